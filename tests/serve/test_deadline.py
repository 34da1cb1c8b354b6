"""What becomes of a request that nobody waits for any more."""

import asyncio
import gc
from concurrent.futures import Future

import httpx
from fake_model import ABOUT

from spanloom.serve.app import application
from spanloom.serve.limits import Limits
from spanloom.serve.model_thread import AnnotationFailed


class Begun:
    """A queue whose one request is past the point where it could be given up."""

    is_full = False

    def __init__(self):
        self.future = Future()

    def submit(self, wish):
        self.future.set_running_or_notify_cancel()
        return self.future


async def asked(app):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://here", trust_env=False
    ) as client:
        return await client.post("/v1/annotate", json={"text": "a"})


def test_a_failure_after_the_deadline_is_heard():
    async def main():
        complaints, batcher = [], Begun()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, said: complaints.append(said["message"]))
        reply = await asked(application(batcher, ABOUT, Limits(compute=0.01)))
        batcher.future.set_exception(AnnotationFailed(0))
        batcher.future = None
        await asyncio.sleep(0.01)  # until the loop has heard of it
        gc.collect()
        return reply.status_code, complaints

    assert asyncio.run(main()) == (504, [])
