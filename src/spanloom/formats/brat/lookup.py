"""Find annotations and their layers by id, without making objects of those held as columns."""

from collections.abc import Sequence

from spanloom.annotation_ids import IdRange
from spanloom.columns import AnnotationColumns
from spanloom.document import Annotation, Layer


class Lookup:
    """The annotations of some layers by id."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        """Index the layers; ids are unique, as in a document."""
        self._objects: dict[str, tuple[Annotation, str]] = {}
        self._columns: list[tuple[AnnotationColumns[Annotation], str]] = []
        for layer in layers:
            for annotations in layer.kinds():
                if isinstance(annotations, AnnotationColumns):
                    self._columns.append((annotations, layer.name))
                else:
                    self._objects |= {
                        annotation.id: (annotation, layer.name) for annotation in annotations
                    }

    def get(self, key: str) -> Annotation | None:
        """Return the annotation of an id, None if there is none."""
        if key in self._objects:
            return self._objects[key][0]
        columns = self._columns_of(key)
        return None if columns is None else columns[0][columns[0].ids.index(key)]

    def layer_of(self, key: str, default: str | None = None) -> str | None:
        """Return the name of the layer of an id, or the default if there is no such annotation."""
        if key in self._objects:
            return self._objects[key][1]
        columns = self._columns_of(key)
        return default if columns is None else columns[1]

    def has_any(self, keys: IdRange) -> bool:
        """Whether any id of a range is that of an annotation."""
        return any(key in keys for key in self._objects) or any(
            columns.ids.shared_id(keys) for columns, _ in self._columns
        )

    def has_all(self, keys: IdRange | None) -> bool:
        """Whether there are no ids, or all are those of one of the columns."""
        return keys is None or self.columns_with(keys) is not None

    def columns_with(self, keys: IdRange) -> AnnotationColumns[Annotation] | None:
        """Return the columns that have all these ids, None if there are none."""
        return next((columns for columns, _ in self._columns if columns.ids.covers(keys)), None)

    def _columns_of(self, key: str) -> tuple[AnnotationColumns[Annotation], str] | None:
        return next((columns for columns in self._columns if key in columns[0].ids), None)
