"""Every error this package raises on purpose.

* SpanloomError             base of all; its text is one line that a user can act on
  + DocumentError           annotations contradict each other or their text
    + WordError             annotation written word by word is malformed; carries the word
  + LayerError              a document lacks a layer that was asked for; names those there are
  + FormatError             an input file breaks its format; carries path and line
  + RecipeError             a recipe cannot be used; carries path and line
  + DataError               a corpus folder lacks what a command needs (no documents, no such split)
  + NameNotFound            no task, embedder, format… of that name; carries the names there are
  + StorageError            a file or folder could not be written whole
  + ModelError              a model folder is incomplete, altered or hostile; nothing in it was run
  + PackageMissing          what was asked for needs an extra that is not installed; says which
  + TrainingError           training cannot start or go on (a diverged loss, a foreign checkpoint)

What had no place somewhere, and is told rather than refused, is a ``LossWarning``.

A message says where, what was expected, what came, and the choices.
"""

import difflib
from collections.abc import Iterable
from importlib.util import find_spec


class SpanloomError(Exception):
    """Base of every error a caller may want to catch."""


class DocumentError(SpanloomError):
    """Annotations contradict each other or their text."""


class WordError(DocumentError):
    """Annotation written word by word is malformed; ``word`` is the index of the first bad word."""

    def __init__(self, word: int, problem: str) -> None:
        super().__init__(f"word {word}: {problem}")
        self.word, self.problem = word, problem


class LayerError(SpanloomError):
    """A document lacks a layer that was asked for."""

    def __init__(self, document: str, layer: str, known: Iterable[str]) -> None:
        choices = ", ".join(known) or "none"
        super().__init__(f"{document}: no layer {layer!r}; layers there: {choices}")


class FormatError(SpanloomError):
    """A line of an input file breaks its format."""

    def __init__(self, path: str, line: int | None, problem: str) -> None:
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}")
        self.path, self.line, self.problem = path, line, problem


class RecipeError(SpanloomError):
    """A recipe cannot be used."""

    def __init__(self, path: str, line: int | None, problem: str) -> None:
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}")
        self.path, self.line, self.problem = path, line, problem


class DataError(SpanloomError):
    """A corpus lacks what a command needs."""


class NameNotFound(SpanloomError):
    """Nothing of that kind has the given name; the nearest name is suggested."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        near = difflib.get_close_matches(name, choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"no {kind} {name!r}{hint} (known: {', '.join(choices) or 'none'})")
        self.kind, self.name, self.known = kind, name, choices


class StorageError(SpanloomError):
    """A file or folder could not be written whole; what was there before is untouched."""


class ModelError(SpanloomError):
    """A model folder is incomplete, altered or hostile; nothing in it was run."""


class PackageMissing(SpanloomError):
    """What was asked for needs an extra of this package that is not installed."""

    def __init__(self, wanted: str, package: str, extra: str) -> None:
        needed = f"{wanted} needs {package}, which is not installed"
        super().__init__(f"{needed}: pip install 'spanloom[{extra}]'")

    @classmethod
    def check(cls, wanted: str, extra: str, *packages: str) -> None:
        """Raise this error for the first of the extra's packages that is not installed."""
        for name in packages:
            if find_spec(name) is None:
                raise cls(wanted, name, extra)


class TrainingError(SpanloomError):
    """Training cannot start or go on."""


class LossWarning(UserWarning):
    """Some annotation has no place in what was made of a document."""
