"""A worker of ``annotate -o OUT``: ``python -m spanloom.cli.annotation_worker SPEC``.

Answers each stretch of documents with the annotated ones. A message, like an answer, is a line of
JSON and then the documents, a line of JSON each.
"""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanloom import plugins
from spanloom.cli.annotator import AnnotationSpec, Annotator
from spanloom.errors import SpanloomError, WorkerError
from spanloom.formats import jsonl
from spanloom.workers.process import Answerer, answer_jobs, module_command

if TYPE_CHECKING:
    from spanloom.formats.brat.conf_from_documents import LayerTypes


@dataclass(frozen=True, slots=True)
class Description:
    """A loaded model in words, what predictions depend on, its layers and those in doubt.

    ``not_run`` are the tasks that do not run, by their layers; ``types`` are those that a layer
    may have, as ``Annotator.types`` returns them.
    """

    line: str
    work: dict[str, str]
    layers: list[str]
    doubts: dict[str, str]
    not_run: dict[str, str]
    types: "dict[str, LayerTypes]"


class StretchAnnotator:
    """Answers messages; the model is loaded when the first one comes."""

    def __init__(self, spec: AnnotationSpec) -> None:
        self._spec = spec
        self._loaded: Annotator | None = None

    def __call__(self, message: bytes) -> bytes:
        """Return the answer to a message; an expected error is an answer, too."""
        head, _, body = message.partition(b"\n")
        try:
            return self._answer(json.loads(head), body)
        except (SpanloomError, OSError) as error:
            return _join({"error": str(error)}, ())

    def _answer(self, head: dict[str, Any], body: bytes) -> bytes:
        if self._loaded is None:
            self._loaded = Annotator(self._spec)
        annotator = self._loaded
        if head["ask"] == "description":
            details = annotator.work(), annotator.layers(), annotator.doubts()
            more = annotator.layers_not_run(), annotator.types()
            return _join(asdict(Description(annotator.describe(), *details, *more)), ())
        documents = list(jsonl.read_stream(body.splitlines(keepends=True), "a worker's input"))
        if head["first"]:
            annotator.begin(documents)
        lines = []
        for document in annotator.annotate_stretch(documents):
            self._save(document)
            lines.append(jsonl.dumps([document]).encode())
        return _join({"compute": annotator.compute()}, lines)

    def _save(self, document: Any) -> None:
        """Save a document's brat files, if these are the output."""
        if self._spec.brat_folder is not None:
            from spanloom.formats.brat.save import save

            save(document, Path(self._spec.brat_folder), list_layers=True)


def description_message() -> bytes:
    """Return the message that asks for a ``Description``."""
    return _join({"ask": "description"}, ())


def stretch_message(lines: Iterable[bytes], *, first: bool) -> bytes:
    """Return the message that asks to annotate documents; ``first``: nothing was before them."""
    return _join({"ask": "annotation", "first": first}, lines)


def parse_description(answer: bytes) -> Description:
    """Return the description that an answer has; raises ``WorkerError`` if it is an error."""
    return Description(**_parse(answer)[0])


def parse_stretch(answer: bytes, compute: str) -> list[bytes]:
    """Return the annotated documents that an answer has, a line each.

    Raises ``WorkerError`` if it is an error, or was computed otherwise than ``compute`` says.
    """
    head, lines = _parse(answer)
    if head["compute"] != compute:
        problem = f"a worker computes with {head['compute']!r}, the first one with {compute!r}"
        raise WorkerError(f"{problem}; name a --precision that all machines have, and one torch")
    return lines


def make_answerer(spec: AnnotationSpec) -> Answerer:
    """Prepare a process, which uses one thread from now on; return what answers its messages.

    Raises ``PluginError``.
    """
    import torch

    torch.set_num_threads(1)
    plugins.load(*spec.plugins or ())
    return StretchAnnotator(spec)


def worker_command(spec: AnnotationSpec) -> list[str]:
    """Return the command that starts a worker process."""
    return module_command(__name__, json.dumps(asdict(spec)))


def _join(head: dict[str, Any], lines: Iterable[bytes]) -> bytes:
    return b"".join((json.dumps(head).encode(), b"\n", *lines))


def _parse(answer: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the head and the lines of an answer; raises ``WorkerError`` if it is an error."""
    head, _, body = answer.partition(b"\n")
    fields: dict[str, Any] = json.loads(head)
    if "error" in fields:
        raise WorkerError(fields["error"])
    return fields, body.splitlines(keepends=True)


def main() -> None:
    """Answer messages until the command that started this process is gone."""
    spec = AnnotationSpec(**json.loads(sys.argv[1]))
    answer_jobs(partial(make_answerer, spec), at_end=partial(os._exit, 0))


if __name__ == "__main__":
    main()
