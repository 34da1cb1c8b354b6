"""What formats share whose rows are about sentences that another file has, by their ids."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar

from spanloom.errors import FormatError
from spanloom.formats._document_builder import DocumentBuilder, Names

C = TypeVar("C")


class Row(NamedTuple, Generic[C]):
    """A row with its line and the id of its sentence."""

    line: int
    sentence: str
    cells: C


def begin_documents(
    rows: Iterable[Row[C]], words_of: Mapping[str, Sequence[str]], sentences_file: str, path: str
) -> Iterator[tuple[DocumentBuilder, list[Row[C]]]]:
    """Yield a document that has the words of a sentence, and the rows about it, for each sentence.

    Raises ``FormatError`` for a sentence that is not in ``words_of``.
    """
    names = Names()
    for sentence, group in groupby(rows, lambda row: row.sentence):
        sentence_rows = list(group)
        if not words_of.get(sentence):
            problem = f"expected the id of a sentence in {sentences_file}, got {sentence!r:.60}"
            raise FormatError(path, sentence_rows[0].line, problem)
        builder = names.making(sentence)
        builder.sentence(words_of[sentence])
        yield builder, sentence_rows


def distinct_id(
    sentence: str, words: str, words_of: Mapping[str, str], previous: str | None
) -> str:
    """Return the id with as many ``~`` as it needs to stand for these words alone.

    It also differs from the ``previous`` one, as rows of one id make one document.
    """
    while sentence == previous or words_of.get(sentence, words) != words:
        sentence += "~"
    return sentence
