"""Compressed sentences: a file of sentences, and beside it up to three of what others kept of them.

::

    input.txt       What are you seeing on the coast road there ?
    gold.1.comp     What are you seeing ?
    gold.2.comp     What are you seeing there ?

A line is a sentence, blanks part its words; the same line of each other file has the words that
stay, in their order. (Clarke and Lapata, 2008; its broadcast news.)

A document is a sentence. Each other file is a layer, ``compression``, ``compression2``,
``compression3``, with a span ``keep`` over each run of words that stay. Where they may be taken
from several places, they are in as few runs as can be. A file without any text is none.
"""

from collections.abc import Iterable, Iterator

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, lines
from spanloom.formats._making import Making
from spanloom.formats._names import numbered
from spanloom.formats._regained import missing
from spanloom.forms.subsequence import earliest, runs
from spanloom.words import blank_words

LAYERS = ("compression", "compression2", "compression3")
KEEP = "keep"


def loads(
    text: str,
    *,
    path: str = "<string>",
    options: Options = Options(),
    compression: str = "",
    compression2: str = "",
    compression3: str = "",
) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError``: how many lines there are, words out of order.

    Its line is that of the sentence and of what was kept; the message names the layer.
    """
    sentences = _lines(text)
    kept = {
        layer: _beside(layer, other, len(sentences), path)
        for layer, other in zip(LAYERS, (compression, compression2, compression3), strict=True)
        if other
    }
    for number, line in enumerate(sentences, 1):
        making = Making(numbered(number))
        for layer in (WORDS, SENTENCES):
            making.layer(layer)
        making.given(line.text, blank_words(line.text))
        for layer, others in kept.items():
            _read(making, layer, line, others[number - 1].text.split(), path)
        yield making.done()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> dict[str, str]:
    """Return the sentences under "", and by layer what is kept; a document is one line."""
    every = [Laid(document) for document in documents]
    made = {"": "".join(_sentence(laid) + "\n" for laid in every)}
    for layer in LAYERS:
        said = any(laid.document.has(layer) for laid in every)
        made[layer] = "".join(" ".join(_kept(laid, layer)) + "\n" for laid in every) if said else ""
    return made


def _lines(text: str) -> list[Line]:
    """Return the lines, without the end of the last one."""
    found = list(lines(text))
    return found if found[-1].text else found[:-1]


def _beside(layer: str, text: str, size: int, path: str) -> list[Line]:
    """Return the lines of what was kept, as many as there are sentences."""
    found = _lines(text)
    if len(found) != size:
        problem = f"{layer}: expected {size} lines as in {path}, got {len(found)}"
        raise FormatError(path, max(1, min(len(found) + 1, size)), problem)
    return found


def _read(making: Making, layer: str, line: Line, kept: list[str], path: str) -> None:
    """Add a layer to the document of a line."""
    making.layer(layer)
    words = [line.text[start:end] for start, end in blank_words(line.text)]
    found = runs(words, kept)
    if found is None:
        at = len(earliest(words, kept))
        problem = f"{layer}: expected words of the sentence in their order"
        raise FormatError(path, line.number, f"{problem}, got {kept[at]!r:.60} as word {at + 1}")
    for start, end in found:
        making.over(layer, KEEP, start, end)


def _sentence(laid: Laid) -> str:
    """Return the text of a document as one line; given words that blanks do not part, parted."""
    text = " ".join(laid.document.text.split("\n"))
    if blank_words(text) == list(laid.words.words):
        return text
    return " ".join("_".join(form.split()) or "_" for form in laid.forms)


def _kept(laid: Laid, layer: str) -> Iterator[str]:
    """Yield the words that stay."""
    rows: set[int] = set()
    for number, spans in enumerate(laid.by_sentence(layer)[0]):
        first = laid.words.sentences[number][0]
        rows.update(first + at for start, end, _ in spans for at in range(start, end))
    yield from ("_".join(laid.forms[row].split()) or "_" for row in sorted(rows))


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when it is read again."""
    made = dumps([document])
    first, second, third = (made[layer] for layer in LAYERS)
    again = loads(made[""], compression=first, compression2=second, compression3=third)
    return missing(document, again)


def _looks(head: str, name: str) -> bool:
    """Tell by the name: nothing in such a file says that others are beside it."""
    return name.endswith("input.txt")


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    ("input.txt",),
    {
        "": "What are you seeing on the coast road there ?\nHello .\n",
        "compression": "What are you seeing ?\nHello .\n",
        "compression2": "What are you seeing there ?\n\n",
        "compression3": "",
    },
    beside={
        "compression": "gold.1.comp",
        "compression2": "gold.2.comp",
        "compression3": "gold.3.comp",
    },
)
