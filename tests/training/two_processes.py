"""The start of a command that runs a program in two processes, at a port that is free."""

import socket


def torchrun() -> list[str]:
    """Return the arguments of python; tests that run at once have other ports."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    address = ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    return ["-m", "torch.distributed.run", "--nproc-per-node", "2", *address]
