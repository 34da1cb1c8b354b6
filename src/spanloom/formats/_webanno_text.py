"""Place the sentences of a WebAnno TSV 3 file in a text; its offsets count UTF-16 units."""

from spanloom.formats._utf16 import num_units

_MIN_GAPS = 1_000_000  # blanks allowed between the sentences of a file, beside one per character


class Gaps:
    """The blanks that the sentences of a file may still have between them."""

    def __init__(self, text: str) -> None:
        """``text`` is that of the file: a small one does not become a large document."""
        self.rest = _MIN_GAPS + len(text)


class SentencePlacer:
    """Joins sentences to a text, each at its offset, with blanks between them."""

    def __init__(self, gaps: Gaps) -> None:
        """``gaps`` are those of the whole file."""
        self._gaps = gaps
        self._pieces: list[str] = []
        self._size = 0

    def add(self, sentence: str, start: int | None) -> None:
        """Add a sentence, on the next line if it has no offset; raises ``ValueError``."""
        if start is None:
            start = self._size + bool(self._pieces)
        gap = start - self._size
        if not 0 <= gap <= self._gaps.rest:
            bounds = f"{self._size}..{self._size + self._gaps.rest}"
            raise ValueError(f"expected a sentence at an offset in {bounds}, got one at {start}")
        self._pieces.append(("\n" if self._pieces else " ") * min(gap, 1) + " " * (gap - 1))
        self._pieces.append(sentence)
        self._gaps.rest -= gap
        self._size = start + num_units(sentence)

    def text(self) -> str:
        """Return the text of the sentences added so far."""
        return "".join(self._pieces)
