"""Read and write compressed sentences: a file of sentences, up to three files of kept words.

::

    input.txt       What are you seeing on the coast road there ?
    gold.1.comp     What are you seeing ?
    gold.2.comp     What are you seeing there ?

A line is a sentence, blanks separate its words; the same line of each other file has the words that
are kept, in their order. (Clarke and Lapata, 2008; its broadcast news.)

A document is a sentence. Each other file is a layer, ``compression``, ``compression2``,
``compression3``, with a span ``keep`` over each run of kept words. Where several alignments are
possible, the one with the fewest runs is taken. A file without any text makes no layer.
"""

from collections.abc import Iterable, Iterator

from spanloom.annotation.word_index import first_match, match_runs
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, default_name
from spanloom.formats._text import Line, lines
from spanloom.formats._word_view import WordView
from spanloom.tokenization import blank_words

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
    """Yield the documents; raises ``FormatError``: unequal numbers of lines, words out of order.

    The error's line is that of the sentence and of its kept words; the message names the layer.
    """
    sentences = _split_lines(text)
    kept_lines = {
        layer: _compression_lines(layer, compression_text, len(sentences), path)
        for layer, compression_text in zip(
            LAYERS, (compression, compression2, compression3), strict=True
        )
        if compression_text
    }
    for number, line in enumerate(sentences, 1):
        builder = DocumentBuilder(default_name(number))
        for layer in (WORDS, SENTENCES):
            builder.layer(layer)
        builder.add_pretokenized(line.text, blank_words(line.text))
        for layer, layer_lines in kept_lines.items():
            _add_layer(builder, layer, line, layer_lines[number - 1].text.split(), path)
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> dict[str, str]:
    """Return the sentences under "", and the kept words by layer; a document is one line."""
    views = [WordView(document) for document in documents]
    texts = {"": "".join(_format_sentence(view) + "\n" for view in views)}
    for layer in LAYERS:
        has_layer = any(view.document.has_layer(layer) for view in views)
        texts[layer] = (
            "".join(" ".join(_kept_words(view, layer)) + "\n" for view in views)
            if has_layer
            else ""
        )
    return texts


def _split_lines(text: str) -> list[Line]:
    """Return the lines, without the empty one after the last line end."""
    all_lines = list(lines(text))
    return all_lines if all_lines[-1].text else all_lines[:-1]


def _compression_lines(layer: str, text: str, size: int, path: str) -> list[Line]:
    """Return the lines of a file of kept words; raises ``FormatError`` unless one per sentence."""
    layer_lines = _split_lines(text)
    if len(layer_lines) != size:
        problem = f"{layer}: expected {size} lines as in {path}, got {len(layer_lines)}"
        raise FormatError(path, max(1, min(len(layer_lines) + 1, size)), problem)
    return layer_lines


def _add_layer(
    builder: DocumentBuilder, layer: str, line: Line, kept: list[str], path: str
) -> None:
    """Add a layer to the document of a line."""
    builder.layer(layer)
    words = [line.text[start:end] for start, end in blank_words(line.text)]
    word_runs = match_runs(words, kept)
    if word_runs is None:
        index = len(first_match(words, kept))
        problem = f"{layer}: expected words of the sentence in their order"
        raise FormatError(
            path, line.number, f"{problem}, got {kept[index]!r:.60} as word {index + 1}"
        )
    for start, end in word_runs:
        builder.add_word_span(layer, KEEP, start, end)


def _format_sentence(view: WordView) -> str:
    """Return the text of a document as one line with a blank between any two words."""
    text = " ".join(view.document.text.split("\n"))
    if blank_words(text) == list(view.words.words):
        return text
    return " ".join("_".join(form.split()) or "_" for form in view.tokens)


def _kept_words(view: WordView, layer: str) -> Iterator[str]:
    """Yield the words that are kept."""
    kept: set[int] = set()
    for number, spans in enumerate(view.by_sentence(layer)[0]):
        first = view.words.sentences[number][0]
        kept.update(first + offset for start, end, _ in spans for offset in range(start, end))
    yield from ("_".join(view.tokens[index].split()) or "_" for index in sorted(kept))


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the file name, as the content does not show the other files."""
    return name.endswith("input.txt")


KIND = Format(
    loads,
    dumps,
    _sniff,
    ("input.txt",),
    {
        "": "What are you seeing on the coast road there ?\nHello .\n",
        "compression": "What are you seeing ?\nHello .\n",
        "compression2": "What are you seeing there ?\n\n",
        "compression3": "",
    },
    sidecars={
        "compression": "gold.1.comp",
        "compression2": "gold.2.comp",
        "compression3": "gold.3.comp",
    },
)
