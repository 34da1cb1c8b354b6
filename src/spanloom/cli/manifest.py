"""The manifest of an annotated corpus: which shards are done, and what they are.

``manifest.json`` in the output folder is written when all shards are done. Until then a hidden log
beside it has a line per shard that is done, after a line that says what the work is::

    {"format": 1, "work": {"model": "5f70…", "tasks": "ner", "form": "json"}}
    {"name": "a.jsonl", "input_bytes": 8123, "documents": 60, "output": "a.jsonl", "sha256": "9a…",
     "output_bytes": 9410, "input_fingerprint": "sha256:e3…"}

A shard's file is complete before its line is written, so a complete line counts.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from spanloom.atomic_io import MANIFEST, report_os_errors, sha256_of, write_all, write_file
from spanloom.cli.destination import Destination, LocalDestination
from spanloom.cli.shards import Fingerprint
from spanloom.errors import StorageError
from spanloom.file_lock import LockHeld, open_locked
from spanloom.progress import check_same, complete_lines, head_line, json_line

LOG = ".spanloom.shards.log"
PUBLISHING = 30.0  # seconds between two uploads of the log
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True, slots=True)
class DoneShard:
    """A shard that is done: its name and bytes, its documents, its output and that one's hash.

    ``input_fingerprint`` tells versions of the input apart: a hash, or what a store has. None is
    unknown, as both last fields are in manifests of versions that had none.
    """

    name: str
    input_bytes: int
    documents: int
    output: str
    sha256: str
    output_bytes: int | None = None
    input_fingerprint: str | None = None


_DONE = TypeAdapter(DoneShard)


@dataclass(slots=True)
class Manifest:
    """The shards of a corpus that are done, by name; made by ``open_manifest``."""

    folder: Path
    work: Mapping[str, str]
    log: int
    destination: Destination
    done: dict[str, DoneShard] = field(default_factory=dict)
    _published: float = 0.0

    def has(self, name: str, input_bytes: int, fingerprint: Fingerprint) -> bool:
        """Return whether a shard is done: its input is the same, its output is there as it was.

        ``fingerprint`` is called if all else is the same, since it may read the whole input.
        """
        shard = self.done.get(name)
        if shard is None or shard.input_bytes != input_bytes:
            return False
        output_bytes = self.destination.num_bytes(self.folder / shard.output)
        if output_bytes is None or shard.output_bytes not in (None, output_bytes):
            return False
        return shard.input_fingerprint is None or shard.input_fingerprint == fingerprint()

    def add(
        self,
        name: str,
        input_bytes: int,
        documents: int,
        output: Path,
        fingerprint: str | None,
    ) -> None:
        """Note that a shard is done, and flush that to the disk; raises ``StorageError``.

        ``fingerprint`` is that of the input before it was read.
        """
        with report_os_errors(output):
            digest = sha256_of(output)
            relative = output.relative_to(self.folder).as_posix()
            self.done[name] = DoneShard(
                name,
                input_bytes,
                documents,
                relative,
                digest,
                output.stat().st_size,
                fingerprint,
            )
            write_all(self.log, json_line(asdict(self.done[name])))
            os.fsync(self.log)
        if time.monotonic() - self._published >= PUBLISHING:
            self.publish_log()
        self.destination.discard(output)

    def publish_log(self) -> None:
        """Let another machine know which shards are done; raises ``StorageError``."""
        self.destination.publish(self.folder / LOG)
        self._published = time.monotonic()

    def finish(self, names: Sequence[str]) -> None:
        """Write the manifest of these shards, and delete the log; raises ``StorageError``."""
        head = json.loads(head_line(self.work))
        content = head | {"shards": [asdict(self.done[name]) for name in names]}
        write_file(self.folder / MANIFEST, (json.dumps(content, indent=1) + "\n").encode())
        self.destination.publish(self.folder / MANIFEST)
        with report_os_errors(self.folder / LOG):
            self.destination.withdraw(self.folder / LOG)

    def close(self) -> None:
        """Publish what the log has of a run that was stopped; raises ``StorageError``."""
        if (self.folder / LOG).exists():
            self.publish_log()


@contextmanager
def open_manifest(
    folder: Path,
    work: Mapping[str, str],
    *,
    resume: bool,
    destination: Destination = LocalDestination(),
) -> Iterator[Manifest]:
    """Open the log of a folder under a lock; with ``resume`` what is done there counts.

    Where the folder goes to a store, the log goes there twice a minute, and at the end: so the run
    can be resumed on another machine, too, and what it uploads grows linearly. Raises
    ``StorageError`` if another process is at work there, or if it was begun as other work.
    """
    with ExitStack() as stack:
        with report_os_errors(folder / LOG):
            folder.mkdir(parents=True, exist_ok=True)
            if resume:
                destination.fetch(folder / LOG)
                destination.fetch(folder / MANIFEST)
            try:
                log = stack.enter_context(open_locked(folder / LOG, _FLAGS, seconds=0))
            except LockHeld:
                raise StorageError(f"{folder / LOG}: another process is at work here") from None
            manifest = Manifest(folder, work, log, destination)
            _begin(manifest, resume=resume)
        manifest.publish_log()
        stack.callback(manifest.close)
        yield manifest


def _begin(manifest: Manifest, *, resume: bool) -> None:
    """Take over the shards that are done; begin the log anew where it has none."""
    lines = complete_lines((manifest.folder / LOG).read_bytes()) if resume else []
    if resume:
        _take_over_finished(manifest, is_required=not lines)
    else:
        manifest.destination.withdraw(manifest.folder / MANIFEST)  # its files are replaced now
    if not lines:
        os.ftruncate(manifest.log, 0)
        write_all(manifest.log, head_line(manifest.work))
        return
    check_same(lines[0][0], manifest.work, manifest.folder / LOG)
    end = lines[0][1]
    for fields, line_end in lines[1:]:
        if (shard := _parse(fields)) is None:
            break
        manifest.done[shard.name], end = shard, line_end
    os.ftruncate(manifest.log, end)


def _take_over_finished(manifest: Manifest, *, is_required: bool) -> None:
    """Take over the shards of an earlier run that was finished, if it was the same work.

    ``is_required``: raise ``StorageError`` for other work, since no log says that it began anew.
    """
    path = manifest.folder / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        shards = [_DONE.validate_python(fields) for fields in content["shards"]]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{path}: no manifest of an annotated corpus ({error!r:.80})") from error
    try:
        check_same(content, manifest.work, path)
    except StorageError:
        if is_required:
            raise
        return
    manifest.done = {shard.name: shard for shard in shards}


def _parse(fields: Mapping[str, Any]) -> DoneShard | None:
    """Return the shard of a line of the log, None for a line of another kind."""
    try:
        return _DONE.validate_python(fields)
    except ValidationError:
        return None
