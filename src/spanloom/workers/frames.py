"""Messages between processes: a key and any bytes, behind a line with the number of bytes."""

from typing import IO


def write_frame(stream: IO[bytes], key: str, content: bytes) -> None:
    """Write a message and flush it; ``key`` is one line. Raises ``OSError``."""
    stream.write(f"{len(content)} {key}\n".encode() + content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[str, bytes] | None:
    """Return the next message: its key and its content; None at the end, or for what is none."""
    header = stream.readline()
    if not header.endswith(b"\n"):
        return None
    length, _, key = header[:-1].decode(errors="replace").partition(" ")
    if not (length.isascii() and length.isdigit()):
        return None
    content = stream.read(int(length))
    return (key, content) if len(content) == int(length) else None
