"""``spanloom annotate DIR --in-place``: add predictions to brat files."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spanloom.cli.console import log, warn
from spanloom.cli.left_out import LeftOut
from spanloom.document import Document
from spanloom.errors import DataError, LayerError, SpanloomError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.formats.brat.folder import Collection
    from spanloom.model.model import Model
    from spanloom.tasks._base import Task


def list_documents(root: Path) -> "Collection":
    """Return the documents of a folder; raises ``DataError`` if there are none."""
    from spanloom.formats.brat import folder

    collection = folder.collect(root)
    if not collection.documents:
        raise DataError(f"{root}: no documents; looked for *.txt")
    warn(collection.problems, root)
    return collection


def add(model: "Model", collection: "Collection", names: Iterable[str] | None) -> None:
    """Add predictions to the files of a folder; documents with problems are skipped.

    Raises ``DataError`` at the end if documents were skipped.
    """
    from spanloom.formats.brat.append import append
    from spanloom.model.merge_predictions import merge_predictions

    layers = set(model.layers.values())
    plain = min(layers) if len(layers) == 1 else None
    task_names = [name for group in model.encoder_passes(names) for name in group]
    left = LeftOut()
    changed = count = 0
    readable = _readable(collection, [model.tasks[name] for name in task_names], left)
    for predicted in model.annotate(readable, task_names):
        try:
            merge = partial(merge_predictions, predicted=predicted, plain=plain)
            more = append(collection.root, predicted.name, merge)
        except SpanloomError as error:
            left.add(error)
        else:
            changed += more > 0
            count += more
    size = len(collection.documents)
    log(f"{quantity(count, 'annotation')} added")
    log(f"{collection.root}: {changed} of {size} documents have new annotations")
    left.check(collection.root, size)


def _readable(
    collection: "Collection", tasks: "Iterable[Task]", left: LeftOut
) -> Iterator[Document]:
    """Yield the documents that can be read and have the tasks' input layers."""
    from spanloom.formats.brat.read import load

    needed = [layer for task in tasks for layer in task.inputs]
    for name, path in collection.documents:
        try:
            reading = load(path, name=name)
            for layer in needed:
                if not reading.document.has_layer(layer):
                    names = (present.name for present in reading.document.layers)
                    raise LayerError(str(path), layer, names)
        except SpanloomError as error:
            left.add(error)
        else:
            warn(reading.problems, collection.root)
            yield reading.document
