"""``spanloom serve``: a model behind a page and an HTTP API."""

from typing import Annotated

import typer

from spanloom.cli.say import WrongUse, listed, say
from spanloom.errors import PackageMissing


def serve(
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="model folder or hub id; else the one that comes along"),
    ] = None,
    host: Annotated[str, typer.Option(help="address to listen on; 0.0.0.0 is all")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SPANLOOM_TOKEN", help="answer those alone who send it (better set by the shell)"
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu | cuda; where it is fastest")] = None,
    precision: Annotated[str, typer.Option(help="fastest | fp32 | bf16 | int8 | onnx")] = "fastest",
) -> None:
    """Serve a model by HTTP: a page at /, POST /v1/annotate, /v1/ask, /v1/classify, GET /v1/model.

    SIGTERM or Ctrl-C ends it when the requests it has taken are answered.

    Example: spanloom serve -m runs/wlp --port 8080
    """
    PackageMissing.check("serve", "serve", "fastapi", "uvicorn")
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise WrongUse("--token: expected printable ASCII without blanks")
    from spanloom.model import folder
    from spanloom.serve.about import about
    from spanloom.serve.server import address, listening
    from spanloom.serve.start import start

    loaded = folder.load(model, device=device, precision=precision)
    told = about(loaded, model or folder.DEFAULT, folder.card_of(model))
    with listening(host, port) as listener:
        tasks = listed(each.name for each in told.tasks if each.doors)
        say(f"model {told.name} on {told.compute}; tasks: {tasks}")
        say(f"serving at {address(listener)}; Ctrl-C ends it")
        start(loaded, told, listener, token=token)
