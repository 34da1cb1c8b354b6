"""The errors that this package raises on purpose.

The tree of classes::

    SpanloomError       base of all; its text is one line that a user can act on
      DocumentError     annotations contradict each other or their text
        WordError       annotation written word by word is malformed; carries the word
      LayerError        a document lacks a requested layer; names its layers
      FormatError       an input file breaks its format; carries path and line
      RecipeError       a recipe cannot be used; carries path and line
      DataError         a corpus folder lacks what a command needs (no documents, no such split)
      NameNotFound      no task, embedder, format… has this name; carries the valid names
      PluginError       a part of another package cannot be used, or has a name that is taken
      StorageError      a file or folder could not be written completely
      ModelError        a model folder is incomplete, altered or hostile; nothing in it was run
      PackageMissing    a function needs an extra that is not installed; says which
      TrainingError     training cannot start or continue (diverged loss, foreign checkpoint)
      WorkerError       worker processes ended, or their work failed
      ClusterError      a cluster cannot be reached

``LossWarning`` warns of annotations that a conversion leaves out.

A message says where the problem is, what was expected, what was given, and the choices.
"""

import difflib
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any


class SpanloomError(Exception):
    """Base class of all errors that a caller may want to catch."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy the error into another process, whatever its class asks for."""
        return _copy, (type(self), self.args, vars(self).copy())


def _copy(cls: type[SpanloomError], args: tuple[Any, ...], fields: dict[str, Any]) -> SpanloomError:
    error = cls.__new__(cls)
    error.args = args
    vars(error).update(fields)
    return error


class DocumentError(SpanloomError):
    """Annotations contradict each other or their text."""


class WordError(DocumentError):
    """Annotation written word by word is malformed; ``word`` is the index of the first bad word."""

    def __init__(self, word: int, problem: str) -> None:
        super().__init__(f"word {word}: {problem}")
        self.word, self.problem = word, problem


class LayerError(SpanloomError):
    """A document lacks a requested layer."""

    def __init__(self, document: str, layer: str, layers: Iterable[str]) -> None:
        choices = ", ".join(layers) or "none"
        super().__init__(f"{document}: no layer {layer!r}; layers there: {choices}")


class _FileError(SpanloomError):
    """Something is wrong in a file, at a line if that is known."""

    def __init__(self, path: str, line: int | None, problem: str) -> None:
        location = path if line is None else f"{path}:{line}"
        super().__init__(f"{location}: {problem}")
        self.path, self.line, self.problem = path, line, problem


class FormatError(_FileError):
    """A line of an input file breaks its format."""


class RecipeError(_FileError):
    """A recipe cannot be used."""


class DataError(SpanloomError):
    """A corpus lacks what a command needs."""


class MissingFileError(DataError):
    """A file that a corpus is made of is not there, and cannot be had."""


class NameNotFound(SpanloomError):
    """Nothing of this kind has the given name; the most similar name is suggested."""

    def __init__(self, kind: str, name: str, valid_names: Iterable[str]) -> None:
        choices = sorted(set(valid_names))
        similar = difflib.get_close_matches(name, choices, n=1)
        hint = f"; did you mean {similar[0]!r}?" if similar else ""
        super().__init__(f"no {kind} {name!r}{hint} (known: {', '.join(choices) or 'none'})")
        self.kind, self.name, self.valid_names = kind, name, choices


class PluginError(SpanloomError):
    """A part of another package cannot be used, or has a name that is taken."""


class StorageError(SpanloomError):
    """A file or folder could not be written completely; an existing one is unchanged."""


class ModelError(SpanloomError):
    """A model folder is incomplete, altered or hostile; nothing in it was run."""


class PackageMissing(SpanloomError):
    """A function needs an extra of this package that is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        needed = f"{feature} needs {package}, which is not installed"
        super().__init__(f"{needed}: pip install 'spanloom[{extra}]'")

    @classmethod
    def check(cls, feature: str, extra: str, *packages: str) -> None:
        """Raise this error for the first of the extra's packages that is not installed."""
        for name in packages:
            if find_spec(name) is None:
                raise cls(feature, name, extra)


class TrainingError(SpanloomError):
    """Training cannot start or continue."""


class WorkerError(SpanloomError):
    """Worker processes ended before their work was done, or it failed in one of them."""


class WorkersDied(WorkerError):
    """Workers died over one job again and again; ``position`` unanswered ones came before it."""

    def __init__(self, count: int, position: int) -> None:
        problem = "is there enough memory, or does one text end the process?"
        super().__init__(f"{count} worker processes died over the same texts; {problem}")
        self.position = position


class ClusterError(SpanloomError):
    """A cluster cannot be reached."""


class StudyError(SpanloomError):
    """Runs of a study failed."""


class LossWarning(UserWarning):
    """A conversion left out annotations that its result cannot hold."""
