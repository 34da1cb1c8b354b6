"""Read and write SemCor: words with WordNet senses, in lines of SGML (Miller et al., 1993).

::

    <contextfile concordance=brown>
    <context filename=br-a01 paras=yes>
    <p pnum=1>
    <s snum=1>
    <wf cmd=done pos=NNP lemma=location wnsn=1 lexsn=1:15:00:: pn=location>New_York</wf>
    <wf cmd=ignore pos=MD>can</wf>
    <punc>.</punc>
    </s>
    </p>
    </context>
    </contextfile>

A context is a document. Its layer ``senses`` has a span over each token with a ``lexsn``, labelled
with its second field, the number of the lexicographer's file (15: noun.location); of several senses
(``;``) the first one counts. A token is one word or, where ``_`` joins them, several, all but the
first with the attribute ``joined``. The attributes of a token are attributes of its first word, as
they are written; ``punc`` without a value is a punctuation mark. Sentences have ``pnum`` where a
paragraph begins, and ``snum`` if it is not their number. Blank lines are not kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.annotation.tag_schemes import Tagged
from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names, default_name, id_in_file
from spanloom.formats._text import Line, lines
from spanloom.formats._word_view import Placed, WordView, encodable_spans, format_cell

LAYER = "senses"
JOINED, PUNC, LEXSN, PNUM, SNUM = "joined", "punc", "lexsn", "pnum", "snum"
CONCORDANCE, PARAS = "concordance", "paras"  # in a document's meta
_NONE = "none"  # the concordance of a document that names none

_TEXT = r"[^\s<>]+"
_FILE = re.compile(rf"<contextfile concordance=({_TEXT})>")
_CONTEXT = re.compile(rf"<context filename=({_TEXT}) paras=({_TEXT})>")
_PARAGRAPH = re.compile(rf"<p pnum=({_TEXT})>")
_SENTENCE = re.compile(rf"<s snum=({_TEXT})>")
_KEY, _VALUE = r"[^\s=<>\"]+", r"(?:\"[^\"<>]*\"|[^\s\"<>]*)"
_ATTRIBUTE = re.compile(rf" ({_KEY})=({_VALUE})")
_WORD = re.compile(rf"<wf(?P<attributes>(?: {_KEY}={_VALUE})*)>(?P<form>[^<>]+)</wf>")
_PUNC = re.compile(r"<punc>(?P<form>[^<>]+)</punc>")
_SENSE = re.compile(r"[^:;]*:([^:;]+):.*")
_PARTING = re.compile(r"[<>\n\r]")
_LABEL = re.compile(r"[^:;\s<>\"]+")


@dataclass(slots=True)
class _LineReader:
    """The remaining lines, the last one first."""

    path: str
    remaining: list[Line]
    last_number: int  # number of the last line

    def next(self) -> str:
        """Return the next line without consuming it; "" at the end."""
        return self.remaining[-1].text if self.remaining else ""

    def take(self, form: re.Pattern[str], expected: str) -> re.Match[str]:
        """Consume a line of this form; raises ``FormatError``."""
        match = form.fullmatch(self.next())
        if match is None:
            raise self.error(expected)
        self.remaining.pop()
        return match

    def close(self, tag: str) -> None:
        """Consume a closing tag; raises ``FormatError``."""
        if self.next() != tag:
            raise self.error(tag)
        self.remaining.pop()

    def error(self, expected: str) -> FormatError:
        """Return the error of the next line."""
        number = self.remaining[-1].number if self.remaining else self.last_number
        got = repr(self.next())[:60] if self.remaining else "the end"
        return FormatError(self.path, number, f"expected {expected}, got {got}")


@dataclass(frozen=True, slots=True)
class _Token:
    """The words of a token, its attributes, and the label of its sense."""

    words: list[str]
    attributes: list[tuple[str, str | None]]
    sense: str | None


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` for any unexpected line."""
    all_lines = list(lines(text))
    filled_lines = [Line(number, line.strip()) for number, line in all_lines if line.strip()]
    reader = _LineReader(path, filled_lines[::-1], all_lines[-1].number)
    names = Names()
    while reader.remaining:
        concordance = reader.take(_FILE, "<contextfile concordance=…>")[1]
        name, paras = reader.take(_CONTEXT, "<context filename=… paras=…>").groups()
        builder = names.making(name)
        for layer in (WORDS, SENTENCES, LAYER):
            builder.layer(layer)
        actual_paras = _read_context(reader, builder)
        if concordance != _NONE:
            builder.meta.append((CONCORDANCE, concordance))
        if paras != actual_paras:
            builder.meta.append((PARAS, paras))
        yield builder.build()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the lines; words that a span of ``senses`` covers together are one token."""
    return "".join(
        line + "\n"
        for number, document in enumerate(documents, 1)
        for line in _format_document(document, default_name(number))
    )


def _read_context(reader: _LineReader, builder: DocumentBuilder) -> str:
    """Add the sentences of a context; return whether it has paragraphs, ``yes`` or ``no``."""
    while _SENTENCE.fullmatch(reader.next()):
        _add_sentence(reader, builder)
    paras = "no"
    while reader.next() != "</context>":
        paras = "yes"
        number = reader.take(_PARAGRAPH, "<p pnum=…> or </context>")[1]
        first = len(builder.sentences)
        while reader.next() != "</p>" or first == len(builder.sentences):
            _add_sentence(reader, builder)
        builder.attribute(SENTENCES, PNUM, builder.sentences[first], number)
        reader.close("</p>")
    reader.close("</context>")
    reader.close("</contextfile>")
    return paras


def _add_sentence(reader: _LineReader, builder: DocumentBuilder) -> None:
    """Add a sentence; raises ``FormatError``."""
    number = reader.take(_SENTENCE, "<s snum=…>")[1]
    tokens: list[_Token] = []
    while reader.next() != "</s>" or not tokens:
        tokens.append(_read_token(reader))
    reader.close("</s>")
    words = builder.sentence([word for token in tokens for word in token.words])
    if number != str(len(builder.sentences)):
        builder.attribute(SENTENCES, SNUM, builder.sentences[-1], number)
    start = words.start
    for token in tokens:
        for label, value in token.attributes:
            builder.attribute(WORDS, label, builder.words[start], value)
        end = start + len(token.words)
        for word in builder.words[start + 1 : end]:
            builder.attribute(WORDS, JOINED, word)
        if token.sense is not None:
            builder.add_word_span(LAYER, token.sense, start, end)
        start = end


def _read_token(reader: _LineReader) -> _Token:
    """Consume a token; raises ``FormatError``."""
    line = reader.next()
    match = _PUNC.fullmatch(line) or _WORD.fullmatch(line)
    if match is None or not match["form"].strip():
        raise reader.error("<wf …>WORD</wf>, <punc>MARK</punc> or, behind one of them, </s>")
    words = match["form"].split("_")
    words = words if all(word.strip() for word in words) else [match["form"]]
    if match.re is _PUNC:
        reader.remaining.pop()
        return _Token(words, [(PUNC, None)], None)
    attributes = _ATTRIBUTE.findall(match["attributes"])
    sense = next((value for key, value in attributes if key == LEXSN), None)
    label = _SENSE.fullmatch(sense) if sense is not None else None
    if sense is not None and (label is None or not _LABEL.fullmatch(label[1])):
        raise reader.error("a sense as lexsn=1:15:00::")
    reader.remaining.pop()
    if label is None:
        return _Token(words, attributes, None)
    return _Token(
        words,
        [attribute for attribute in attributes if attribute != (LEXSN, _minimal_sense(label[1]))],
        label[1],
    )


def _minimal_sense(label: str) -> str:
    """Return a sense key that has only the label."""
    return f":{label}:::"


def _format_document(document: Document, number: str) -> Iterator[str]:
    """Yield the lines of a document."""
    view, meta = WordView(document), dict(document.meta)
    word_attributes, sentence_attributes = view.values(WORDS), view.values(SENTENCES)
    sentence_values = {
        index: {a.label: a.value or "" for a in attributes if _is_writable(a.value)}
        for index, attributes in sentence_attributes.items()
    }
    paras = "yes" if any(PNUM in values for values in sentence_values.values()) else "no"
    yield f"<contextfile concordance={_writable_or(meta.get(CONCORDANCE), _NONE)}>"
    name = re.sub(r"[\s<>]", "_", id_in_file(document)) or number
    yield f"<context filename={name} paras={_writable_or(meta.get(PARAS), paras)}>"
    in_paragraph = False
    for index, (bounds, spans) in enumerate(
        zip(view.words.sentences, encodable_spans(view, LAYER, _is_writable_label), strict=True)
    ):
        values = sentence_values.get(index, {})
        if PNUM in values:
            yield from ["</p>"] * in_paragraph
            yield f"<p pnum={values[PNUM]}>"
            in_paragraph = True
        yield f"<s snum={values.get(SNUM, str(index + 1))}>"
        yield from _format_tokens(
            view.tokens[slice(*bounds)],
            spans,
            [word_attributes.get(word, []) for word in range(*bounds)],
        )
        yield "</s>"
    yield from ["</p>"] * in_paragraph
    yield from ("</context>", "</contextfile>")


def _is_writable(value: str | None) -> bool:
    """Tell whether a value can be written in a tag."""
    return value is not None and re.fullmatch(_TEXT, value) is not None


def _writable_or(value: str | None, default: str) -> str:
    """Return a value if it can be written in a tag, else the default."""
    return value if value is not None and _is_writable(value) else default


def _format_tokens(
    forms: Sequence[str], spans: list[Placed], word_attributes: list[list[Attribute]]
) -> Iterator[str]:
    """Yield the lines of a sentence's tokens."""
    joined = {
        word
        for word, attributes in enumerate(word_attributes)
        if any(a.label == JOINED for a in attributes)
    }
    joined |= {word for start, end, _ in spans for word in range(start + 1, end)}
    joined -= {word for start, end, _ in spans for word in (start, end)} | {0}
    senses = {start: span.label for start, _, span in spans}
    starts = [word for word in range(len(forms)) if word not in joined]
    for start, end in zip(starts, [*starts[1:], len(forms)], strict=True):
        form = "_".join(format_cell(form, _PARTING) for form in forms[start:end])
        yield _format_token(form, senses.get(start), word_attributes[start])


def _format_token(form: str, sense: str | None, attributes: list[Attribute]) -> str:
    """Return the line of a token; an original ``lexsn`` is kept if its label is the sense."""
    values = [(a.label, a.value or "") for a in attributes if a.label not in (JOINED, PUNC)]
    kept, has_sense = [], sense is None
    for key, value in values:
        if key == LEXSN:
            match = _SENSE.fullmatch(value)
            if match is None or match[1] != sense or has_sense:
                continue
            has_sense = True
        if _ATTRIBUTE.fullmatch(f" {key}={value}"):
            kept.append(f" {key}={value}")
    if not kept and sense is None and any(a.label == PUNC for a in attributes):
        return f"<punc>{form}</punc>"
    if not has_sense:
        kept.append(f" {LEXSN}={_minimal_sense(sense or '')}")
    return f"<wf{''.join(kept)}>{form}</wf>"


def _is_writable_label(span: Tagged) -> bool:
    """Tell whether a sense can have the label of a span."""
    return _LABEL.fullmatch(span[2]) is not None


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the two tags that such a file begins with."""
    return re.match(rf"\s*{_FILE.pattern}\s*{_CONTEXT.pattern}", head) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".semcor", ".sgml"),
    "<contextfile concordance=brown>\n"
    "<context filename=br-a01 paras=yes>\n"
    "<p pnum=1>\n"
    "<s snum=1>\n"
    "<wf cmd=done rdf=location pos=NNP lemma=location wnsn=1 lexsn=1:15:00:: pn=location>"
    "New_York</wf>\n"
    "<wf cmd=ignore dc=-1 pos=MD>can</wf>\n"
    "<wf cmd=done pos=VB lemma=wait wnsn=1;2 lexsn=2:42:00::;2:31:01::>wait</wf>\n"
    "<punc>.</punc>\n"
    "</s>\n"
    "</p>\n"
    "<p pnum=2>\n"
    "<s snum=3>\n"
    '<wf cmd=done sep="-" pos=RB ot=notag>at_last</wf>\n'
    "</s>\n"
    "</p>\n"
    "</context>\n"
    "</contextfile>\n",
)
