"""``spanloom annotate DIR --in-place``: add predictions to brat files."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from spanloom.cli.console import log
from spanloom.cli.inputs import readable
from spanloom.cli.left_out import LeftOut
from spanloom.document import Document
from spanloom.errors import LayerError, SpanloomError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.formats.brat.folder import Collection
    from spanloom.model.model import Model
    from spanloom.tasks._base import Task


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
    documents = _with_inputs(collection, [model.tasks[name] for name in task_names], left)
    for predicted in model.annotate(documents, task_names):
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


def _with_inputs(
    collection: "Collection", tasks: "Iterable[Task]", left: LeftOut
) -> Iterator[Document]:
    """Yield the documents that can be read and have the tasks' input layers."""
    needed = [layer for task in tasks for layer in task.inputs]
    paths = dict(collection.documents)
    for document in readable(collection, "utf-8", left):
        missing = next((layer for layer in needed if not document.has_layer(layer)), None)
        if missing is None:
            yield document
        else:
            names = (present.name for present in document.layers)
            left.add(LayerError(str(paths[document.name]), missing, names))
