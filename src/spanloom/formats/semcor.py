"""SemCor: words with WordNet senses, in lines of SGML (Miller et al., 1993).

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
with the second field of it, the number of the lexicographer's file (15: noun.location); of several
senses (``;``) with the first one's. A token is one word or, where ``_`` joins them, several, all
but the first with the attribute ``joined``. Whatever is said of a token are attributes of its first
word, as they are spelt; ``punc`` without a value is a punctuation mark. Sentences have ``pnum``
where a paragraph begins, and ``snum`` if it is not their number. Blank lines are not kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, lines
from spanloom.formats._making import Making
from spanloom.formats._names import Names, numbered, own
from spanloom.formats._regained import missing
from spanloom.formats._tagged import Placed, apart, written
from spanloom.forms.tag_schemes import Tagged

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
_WORD = re.compile(rf"<wf(?P<said>(?: {_KEY}={_VALUE})*)>(?P<form>[^<>]+)</wf>")
_PUNC = re.compile(r"<punc>(?P<form>[^<>]+)</punc>")
_SENSE = re.compile(r"[^:;]*:([^:;]+):.*")
_PARTING = re.compile(r"[<>\n\r]")
_LABEL = re.compile(r"[^:;\s<>\"]+")


@dataclass(slots=True)
class _Reader:
    """The lines that are left, the last one first."""

    path: str
    left: list[Line]
    last: int  # number of the last line

    def next(self) -> str:
        """Return the next line without taking it; "" at the end."""
        return self.left[-1].text if self.left else ""

    def take(self, form: re.Pattern[str], expected: str) -> re.Match[str]:
        """Take a line of that form; raises ``FormatError``."""
        match = form.fullmatch(self.next())
        if match is None:
            raise self.wrong(expected)
        self.left.pop()
        return match

    def close(self, tag: str) -> None:
        """Take a closing tag."""
        if self.next() != tag:
            raise self.wrong(tag)
        self.left.pop()

    def wrong(self, expected: str) -> FormatError:
        """Return what is wrong with the next line."""
        number = self.left[-1].number if self.left else self.last
        got = repr(self.next())[:60] if self.left else "the end"
        return FormatError(self.path, number, f"expected {expected}, got {got}")


@dataclass(frozen=True, slots=True)
class _Token:
    """Its words, what is said of it, and the label of its sense."""

    words: list[str]
    said: list[tuple[str, str | None]]
    sense: str | None


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError`` for any line that is not the expected one."""
    every = list(lines(text))
    left = [Line(number, line.strip()) for number, line in every if line.strip()]
    reader = _Reader(path, left[::-1], every[-1].number)
    names = Names()
    while reader.left:
        concordance = reader.take(_FILE, "<contextfile concordance=…>")[1]
        name, paras = reader.take(_CONTEXT, "<context filename=… paras=…>").groups()
        making = names.making(name)
        for layer in (WORDS, SENTENCES, LAYER):
            making.layer(layer)
        paras_found = _read(reader, making)
        if concordance != _NONE:
            making.meta.append((CONCORDANCE, concordance))
        if paras != paras_found:
            making.meta.append((PARAS, paras))
        yield making.done()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the lines; words that a span of ``senses`` covers together are one token."""
    return "".join(
        line + "\n" for at, each in enumerate(documents, 1) for line in _written(each, numbered(at))
    )


def _read(reader: _Reader, making: Making) -> str:
    """Add what is in a context; return whether it has paragraphs, as the file says it."""
    while _SENTENCE.fullmatch(reader.next()):
        _sentence(reader, making)
    paras = "no"
    while reader.next() != "</context>":
        paras = "yes"
        number = reader.take(_PARAGRAPH, "<p pnum=…> or </context>")[1]
        first = len(making.sentences)
        while reader.next() != "</p>" or first == len(making.sentences):
            _sentence(reader, making)
        making.attribute(SENTENCES, PNUM, making.sentences[first], number)
        reader.close("</p>")
    reader.close("</context>")
    reader.close("</contextfile>")
    return paras


def _sentence(reader: _Reader, making: Making) -> None:
    """Add a sentence."""
    number = reader.take(_SENTENCE, "<s snum=…>")[1]
    tokens: list[_Token] = []
    while reader.next() != "</s>" or not tokens:
        tokens.append(_token(reader))
    reader.close("</s>")
    words = making.sentence([word for token in tokens for word in token.words])
    if number != str(len(making.sentences)):
        making.attribute(SENTENCES, SNUM, making.sentences[-1], number)
    at = words.start
    for token in tokens:
        for label, value in token.said:
            making.attribute(WORDS, label, making.words[at], value)
        end = at + len(token.words)
        for word in making.words[at + 1 : end]:
            making.attribute(WORDS, JOINED, word)
        if token.sense is not None:
            making.over(LAYER, token.sense, at, end)
        at = end


def _token(reader: _Reader) -> _Token:
    """Take a token."""
    line = reader.next()
    match = _PUNC.fullmatch(line) or _WORD.fullmatch(line)
    if match is None or not match["form"].strip():
        raise reader.wrong("<wf …>WORD</wf>, <punc>MARK</punc> or, behind one of them, </s>")
    words = match["form"].split("_")
    words = words if all(word.strip() for word in words) else [match["form"]]
    if match.re is _PUNC:
        reader.left.pop()
        return _Token(words, [(PUNC, None)], None)
    said = _ATTRIBUTE.findall(match["said"])
    sense = next((value for key, value in said if key == LEXSN), None)
    label = _SENSE.fullmatch(sense) if sense is not None else None
    if sense is not None and (label is None or not _LABEL.fullmatch(label[1])):
        raise reader.wrong("a sense as lexsn=1:15:00::")
    reader.left.pop()
    if label is None:
        return _Token(words, said, None)
    return _Token(words, [each for each in said if each != (LEXSN, _made(label[1]))], label[1])


def _made(label: str) -> str:
    """Return a sense of which nothing but its label is known."""
    return f":{label}:::"


def _written(document: Document, number: str) -> Iterator[str]:
    """Yield the lines of a document."""
    laid, meta = Laid(document), dict(document.meta)
    said, about = laid.values(WORDS), laid.values(SENTENCES)
    marked = {
        at: {a.label: a.value or "" for a in each if _plain(a.value)} for at, each in about.items()
    }
    paras = "yes" if any(PNUM in each for each in marked.values()) else "no"
    yield f"<contextfile concordance={_or(meta.get(CONCORDANCE), _NONE)}>"
    name = re.sub(r"[\s<>]", "_", own(document)) or number
    yield f"<context filename={name} paras={_or(meta.get(PARAS), paras)}>"
    opened = False
    for at, (bounds, spans) in enumerate(
        zip(laid.words.sentences, apart(laid, LAYER, _spells), strict=True)
    ):
        here = marked.get(at, {})
        if PNUM in here:
            yield from ["</p>"] * opened
            yield f"<p pnum={here[PNUM]}>"
            opened = True
        yield f"<s snum={here.get(SNUM, str(at + 1))}>"
        yield from _tokens(
            laid.forms[slice(*bounds)], spans, [said.get(w, []) for w in range(*bounds)]
        )
        yield "</s>"
    yield from ["</p>"] * opened
    yield from ("</context>", "</contextfile>")


def _plain(value: str | None) -> bool:
    """Whether a value can stand in a tag."""
    return value is not None and re.fullmatch(_TEXT, value) is not None


def _or(value: str | None, other: str) -> str:
    """Return a value that can stand in a tag, or another."""
    return value if value is not None and _plain(value) else other


def _tokens(
    forms: Sequence[str], spans: list[Placed], said: list[list[Attribute]]
) -> Iterator[str]:
    """Yield the lines of a sentence's tokens."""
    joined = {at for at, each in enumerate(said) if any(a.label == JOINED for a in each)}
    joined |= {at for start, end, _ in spans for at in range(start + 1, end)}
    joined -= {at for start, end, _ in spans for at in (start, end)} | {0}
    senses = {start: span.label for start, _, span in spans}
    starts = [at for at in range(len(forms)) if at not in joined]
    for start, end in zip(starts, [*starts[1:], len(forms)], strict=True):
        form = "_".join(written(each, _PARTING) for each in forms[start:end])
        yield _line(form, senses.get(start), said[start])


def _line(form: str, sense: str | None, said: list[Attribute]) -> str:
    """Return the line of a token; its sense is the one of the file if that has the same label."""
    values = [(a.label, a.value or "") for a in said if a.label not in (JOINED, PUNC)]
    kept, known = [], sense is None
    for key, value in values:
        if key == LEXSN:
            match = _SENSE.fullmatch(value)
            if match is None or match[1] != sense or known:
                continue
            known = True
        if _ATTRIBUTE.fullmatch(f" {key}={value}"):
            kept.append(f" {key}={value}")
    if not kept and sense is None and any(a.label == PUNC for a in said):
        return f"<punc>{form}</punc>"
    if not known:
        kept.append(f" {LEXSN}={_made(sense or '')}")
    return f"<wf{''.join(kept)}>{form}</wf>"


def _spells(span: Tagged) -> bool:
    """Whether a sense can have the label of a span."""
    return _LABEL.fullmatch(span[2]) is not None


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the two tags that such a file begins with."""
    return re.match(rf"\s*{_FILE.pattern}\s*{_CONTEXT.pattern}", head) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
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
