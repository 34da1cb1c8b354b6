"""``annotate -o OUT``: finished documents are kept beside OUT until all are; a run may go on.

Whatever the form, documents are appended as JSON lines to ``OUT.part`` (in a brat folder to a
hidden file), behind which the log of ``progress`` stands. Once all are there, OUT is made of them,
whole or not at all. Brat files are also written as they come. A corpus of shards has this for each
shard, and a manifest of those that are done; a shard that cannot be read does not stop the others.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from spanloom.atomic_io import MANIFEST, make_folder
from spanloom.cli.annotation_worker import (
    Description,
    description_message,
    parse_description,
    parse_stretch,
    stretch_message,
)
from spanloom.cli.console import log
from spanloom.cli.distinct_names import check_distinct_names
from spanloom.cli.finished import OutputJob, write_finished
from spanloom.cli.manifest import Manifest, open_manifest
from spanloom.cli.output_places import check_is_not_source
from spanloom.cli.outputs import BRAT, is_format
from spanloom.cli.progress_log import ProgressLog, count_words
from spanloom.cli.run_record import check_same_run, record_run
from spanloom.cli.shards import Shard, Source
from spanloom.corpora.files import is_hidden
from spanloom.document import Document
from spanloom.errors import DataError, FormatError, StorageError, WorkerError, WorkersDied
from spanloom.formats import _files, jsonl
from spanloom.model.stretches import cut_stretches
from spanloom.progress import Work, open_work
from spanloom.quantity import quantity, shorten_list
from spanloom.termination import terminable
from spanloom.workers.executors import Executor
from spanloom.workers.ordered import in_order

PART = ".part"
_HIDDEN = ".spanloom.part"  # what stands in a brat folder is hidden from brat


def annotate_into(executor: Executor, shards: Sequence[Shard], output: OutputJob) -> None:
    """Annotate shards, each into its target; finished documents are kept if the run fails.

    Raises what reading raises, ``WorkerError`` for what happens in the workers, ``StorageError``,
    and ``KeyboardInterrupt`` for SIGTERM.
    """
    with terminable(), ExitStack() as stack:
        stack.callback(executor.close)
        description = next(map(parse_description, in_order(executor, [description_message()])))
        log(description.line)
        output.shown.check(description.layers, description.not_run)
        shown = replace(output.shown, doubts=description.doubts)
        output = replace(output, shown=shown, types=description.types)
        run = _Run(shards, output, description)
        stack.callback(run.close)
        if output.is_corpus:
            work = description.work | {"form": output.to}
            run.manifest = stack.enter_context(
                open_manifest(
                    output.out, work, resume=output.resume, destination=output.destination
                )
            )
            stack.callback(run.tell_shards)
        try:
            for answer in in_order(executor, run.messages()):
                run.commit(answer)
        except WorkersDied as error:
            raise WorkerError(f"{error} They are {run.sent_texts(error.position)}") from error
        run.finish()


def check(source: Source, out: Path, to: str) -> None:
    """Raise ``WrongUse`` if OUT is IN, ``StorageError`` if it cannot be written.

    Raises ``FormatError`` for two documents that would become one brat file. So mistakes show
    before anything is computed.
    """
    from spanloom.atomic_io import check_replaceable

    if isinstance(source, Path):
        check_is_not_source(out, source)
        if to == BRAT and source.is_file():
            check_distinct_names(source)
    if to != BRAT:
        check_replaceable(out)
    if is_format(to):
        _files.check_sidecars(out, _files.load(to))


@dataclass(slots=True)
class _OpenShard:
    """A shard in progress: its work, what closes its files, and up to which byte it was sent.

    ``pending`` stretches were sent and not answered; ``is_read``: no other will be sent, and
    ``is_damaged``: because the rest cannot be read. ``fingerprint`` is that of the input before it
    was read.
    """

    shard: Shard
    under_way: Work
    files: ExitStack
    fingerprint: str | None
    sent_bytes: int = 0
    pending: int = 0
    is_read: bool = False
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Documents that were sent to a worker."""

    opened: _OpenShard
    lines: Sequence[bytes]
    num_words: int
    num_bytes: int


@dataclass(slots=True)
class _Run:
    """Reads shards, stretch by stretch, and keeps what comes back, in the same order."""

    shards: Sequence[Shard]
    output: OutputJob
    description: Description
    manifest: Manifest | None = None
    _sent: deque[_Stretch] = field(default_factory=deque)
    _open: list[_OpenShard] = field(default_factory=list)
    _damaged: list[str] = field(default_factory=list)
    _has_sent: bool = False
    _is_finished: bool = False
    _progress: ProgressLog = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._progress = ProgressLog(sum(shard.size for shard in self.shards))

    def messages(self) -> Iterator[bytes]:
        """Yield a message for each stretch that is still to be annotated.

        Raises what reading raises, unless there are other shards to go on with.
        """
        for shard in self.shards:
            try:
                yield from self._shard_messages(shard)
            except (FormatError, DataError) as error:
                if self.manifest is None:
                    raise
                log(f"{error}; going on with the other shards")
                self._set_damaged(shard)

    def _shard_messages(self, shard: Shard) -> Iterator[bytes]:
        if self._is_done(shard):
            self._progress.skip(shard.size)
            return
        opened = self._begin(shard)
        documents = self._documents_left(opened)
        opened.sent_bytes = shard.position
        self._progress.skip(shard.position)
        for stretch in cut_stretches(documents, done=opened.under_way.done.units):
            yield self._send(opened, stretch)
        opened.is_read = True
        self._end_if_done(opened)

    def _documents_left(self, opened: _OpenShard) -> Iterator[Document]:
        """Return the documents that an earlier run has not done: all, where its input was changed.

        Raises ``StorageError`` for a changed input that is not one of many.
        """
        shard, under_way = opened.shard, opened.under_way
        documents = iter(shard)
        try:
            under_way.repeat(_take_lines(documents, under_way.done.inputs))
        except StorageError:
            if self.manifest is None:
                raise
            log(f"{shard.name}: not as it was when it was begun; done anew")
            under_way.begin_anew()
            shard.position = 0
            documents = iter(shard)
        return documents

    def _set_damaged(self, shard: Shard) -> None:
        """Note that the rest of a shard cannot be read, if any of it could."""
        self._damaged.append(shard.name)
        for opened in self._open:
            if opened.shard is shard:
                opened.is_read = opened.is_damaged = True
                self._end_if_done(opened)
                return

    def commit(self, answer: bytes) -> None:
        """Keep the answer to the oldest message that has none yet."""
        sent = self._sent.popleft()
        lines = parse_stretch(answer, self.description.work["compute"])
        under_way = sent.opened.under_way
        for read, written in zip(sent.lines, lines, strict=True):
            under_way.add(read, written)
        under_way.acknowledge()
        self._progress.add(len(lines), sent.num_words, sent.num_bytes)
        sent.opened.pending -= 1
        self._end_if_done(sent.opened)

    def sent_texts(self, position: int) -> str:
        """Return the names of the first and the last text of a stretch that has no answer yet."""
        lines = self._sent[position].lines
        names = [next(jsonl.loads(line.decode())).name for line in (lines[0], lines[-1])]
        return " to ".join(map(repr, dict.fromkeys(names)))

    def finish(self) -> None:
        """Write the manifest, if there is one.

        Raises ``DataError`` for shards that could not be read, and ``StorageError``.
        """
        if self._damaged:
            count = f"{len(self._damaged)} of {quantity(len(self.shards), 'shard')}"
            names = shorten_list(self._damaged)
            raise DataError(f"{count} cannot be read: {names}; mend or remove them, then go on")
        if self.manifest is not None:
            self._tell_stale(self.manifest)
            self.manifest.finish([shard.name for shard in self.shards])
            log(f"written to {self._shown_out()}/: {quantity(len(self.shards), 'shard')}")
        self._is_finished = True

    def close(self) -> None:
        """Close the files of shards that are not done, and log how much of the first is kept."""
        for number, opened in enumerate(self._open):
            if number == 0 and self.manifest is None:
                _tell_kept(opened.under_way, self.output)
            opened.files.close()

    def tell_shards(self) -> None:
        """Log which shards are done, if the run was stopped."""
        if self.manifest is not None and not self._is_finished:
            count = f"{len(self.manifest.done)} of {quantity(len(self.shards), 'shard')}"
            log(f"{self._shown_out()}: {count} done; to go on: {self.output.again}")

    def _tell_stale(self, manifest: Manifest) -> None:
        """Log which files look like outputs and have no input, such as one that was removed."""
        outputs = {manifest.done[shard.name].output for shard in self.shards}
        suffixes = {PurePath(name).suffix for name in outputs}
        others = manifest.destination.names(manifest.folder) - outputs - {MANIFEST}
        stale = [name for name in map(PurePath, sorted(others)) if name.suffix in suffixes]
        names = [str(name) for name in stale if not is_hidden(name)]
        if names:
            log(f"{self._shown_out()}: of no input of this run: {shorten_list(names)}")

    def _shown_out(self) -> str:
        return self.output.destination.shown(self.output.out)

    def _is_done(self, shard: Shard) -> bool:
        """Return whether an earlier run did a shard, as the manifest says."""
        manifest = self.manifest
        return manifest is not None and manifest.has(shard.name, shard.size, shard.fingerprint)

    def _begin(self, shard: Shard) -> _OpenShard:
        """Open the work of a shard; raises ``StorageError``, and ``FormatError`` for its input."""
        fingerprint = None if self.manifest is None else shard.fingerprint()
        if self.output.is_corpus:
            make_folder(shard.target.parent)
        work = self.description.work | {"form": self.output.to}
        if shard.name:
            work["shard"] = shard.name
        if self.output.to == BRAT:
            check_same_run(shard.target, work)
        part = _part(shard, self.output.to)
        files = ExitStack()
        under_way = files.enter_context(open_work(part, work, resume=self.output.resume))
        if self.output.to == BRAT:
            record_run(shard.target, work)
        opened = _OpenShard(shard, under_way, files, fingerprint)
        self._open.append(opened)
        if self.manifest is None:
            _tell_begun(under_way, self.output)
        return opened

    def _send(self, opened: _OpenShard, documents: Sequence[Document]) -> bytes:
        position, lines = opened.shard.position, [_line(document) for document in documents]
        num_bytes = position - opened.sent_bytes
        self._sent.append(_Stretch(opened, lines, count_words(documents), num_bytes))
        opened.sent_bytes = position
        opened.pending += 1
        is_first, self._has_sent = not self._has_sent, True
        return stretch_message(lines, first=is_first)

    def _end_if_done(self, opened: _OpenShard) -> None:
        """End a shard that is read as far as it can be and has all answers, whichever came last.

        No worker is asked: a second one would be started for the end of a short input alone.
        """
        if not opened.is_read or opened.pending:
            return
        if not opened.is_damaged:
            self._end(opened)
        self._open.remove(opened)
        opened.files.close()

    def _end(self, opened: _OpenShard) -> None:
        """Write a shard's output from its finished documents, and note it in the manifest."""
        shard, under_way = opened.shard, opened.under_way
        output = replace(self.output, to=shard.to, out=shard.target)
        write_finished(under_way, output, is_logged=self.manifest is None)
        if self.manifest is not None:
            count = under_way.done.inputs
            self.manifest.add(shard.name, shard.size, count, shard.target, opened.fingerprint)


def _part(shard: Shard, to: str) -> Path:
    """Return the path where a shard's finished documents are kept."""
    if to != BRAT:
        hidden = "." if shard.name else ""  # a folder of shards has nothing else to see
        return shard.target.with_name(hidden + shard.target.name + PART)
    make_folder(shard.target)
    return shard.target / _HIDDEN


def _take_lines(documents: Iterator[Document], count: int) -> Iterator[bytes]:
    """Take so many documents, as they are kept."""
    for _, document in zip(range(count), documents, strict=False):
        yield _line(document)


def _line(document: Document) -> bytes:
    """Return a document as it is kept."""
    return jsonl.dumps([document]).encode()


def _tell_begun(under_way: Work, output: OutputJob) -> None:
    """Log which documents are already done."""
    if under_way.replaced:
        log(
            f"{under_way.path}: {under_way.replaced} documents of a run that was not finished are "
            "done anew (--resume would have kept them)"
        )
    if output.resume:
        log(f"{under_way.path}: {quantity(under_way.done.inputs, 'document')} done")
        if not under_way.done.inputs and not output.is_corpus and output.out.exists():
            log(
                f"{output.out}: is there, and nothing is left of an unfinished run; it is made anew"
            )


def _tell_kept(under_way: Work, output: OutputJob) -> None:
    """Log how many documents are kept."""
    count = under_way.done.inputs
    if count:
        log(f"{under_way.path}: {quantity(count, 'document')} kept; to go on: {output.again}")
