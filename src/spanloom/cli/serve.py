"""``spanloom serve``: a model behind a page and an HTTP API."""

import os
from contextlib import ExitStack
from typing import Annotated

import typer

from spanloom import plugins
from spanloom.cli.console import WrongUse, join_names, log
from spanloom.cli.options import Precision
from spanloom.errors import ModelError


def serve(
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="model folder or hub id; default: the bundled model"),
    ] = None,
    host: Annotated[str, typer.Option(help="address to listen on; 0.0.0.0 is all")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SPANLOOM_TOKEN", help="token that requests must send (safer in the environment)"
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="model processes for short requests, one thread each if many")
    ] = 1,
    device: Annotated[
        str | None, typer.Option(help="cpu | cuda; by default cuda if there is one")
    ] = None,
    precision: Precision = "fastest",
) -> None:
    """Serve a model by HTTP: a page at /, POST /v1/annotate, /v1/ask, /v1/classify, GET /v1/model.

    SIGTERM or Ctrl-C ends it when the requests it has taken are answered, or after 10 seconds.

    Example: spanloom serve -m runs/wlp --port 8080
    """
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise WrongUse("--token: expected printable ASCII without blanks")
    from spanloom.serve.engine import Process, ProcessLost
    from spanloom.serve.server import listen, start, url_of
    from spanloom.serve.worker import Options
    from spanloom.workers.executors import ONE_THREAD

    listen(host, port).close()  # a port that is taken shows before a model is loaded
    environment = {**os.environ, **ONE_THREAD} if workers > 1 else None
    *short, long = (
        Process(
            Options(model, device, precision, background, tuple(plugins.modules)).command(),
            environment=environment,
        )
        for background in (*[False] * workers, True)
    )
    with ExitStack() as stack:
        for process in (*short, long):
            stack.callback(process.end)
        try:
            hello = short[0].begin()
        except ProcessLost as error:
            problem = "the model process ended three times while it started"
            raise ModelError(f"{problem}; is there enough memory?") from error
        with listen(host, port) as listener:
            tasks = join_names(task.name for task in hello.model.tasks if task.endpoints)
            log(f"model {hello.model.name} on {hello.model.compute}; tasks: {tasks}")
            log(f"serving at {url_of(listener)}; Ctrl-C ends it")
            start((short, long), hello, listener, token=token)
