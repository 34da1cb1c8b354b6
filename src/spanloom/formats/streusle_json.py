"""STREUSLE's sentences as JSON lines: words, labels of lexical expressions, and their words.

::

    {"sent_id": "a", "toks": ["Buyer", "Beware", "!"], "lexlabel": ["N-n.PERSON", "V", "PUNCT"],
     "smwe": [], "wmwe": [[0, 1]]}

A label, category and sense, stands at the last word of its expression, null at those before; of two
senses (role and function) a colon stands between. ``smwe`` are strong multiword expressions,
``wmwe`` weak ones. A line is a document, its text the words with a blank between any two; see
``_lexical`` for the layers.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.config.options import Options
from spanloom.document import SENTENCES, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._json import a_list, a_number, a_string, an_object, only, parsed, value_of
from spanloom.formats._laid import Laid
from spanloom.formats._lexical import Lexicon, add
from spanloom.formats._lines import lines
from spanloom.formats._names import Names, numbered, own
from spanloom.formats._regained import missing
from spanloom.forms.expressions import NONE, Expressions, Group, Lexical

_KEYS = ("sent_id", "toks", "lexlabel", "smwe", "wmwe")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    names = Names()
    for line in lines(text):
        if line.text.strip():
            try:
                yield _document(an_object(parsed(line.text, path, line.number)), names)
            except ValueError as error:
                raise FormatError(path, line.number, f"not a sentence: {error}") from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the lines, one a sentence."""
    many = enumerate((each for document in documents for each in _sentences(document)), 1)
    return "".join(_spelt(said, numbered(number)) + "\n" for number, said in many)


def _document(said: dict[str, Any], names: Names) -> Document:
    """Return the document of one line; raises ``ValueError``."""
    only(said, *_KEYS)
    wanted = a_string(value_of(said, "sent_id"))
    words = [a_string(each) for each in a_list(value_of(said, "toks"))]
    if not words or "" in words:
        raise ValueError("expected words under 'toks', each of a character at least")
    making = names.making(wanted)
    making.sentence(words)
    strong, weak = (_groups(value_of(said, key), len(words), key) for key in ("smwe", "wmwe"))
    labels = a_list(value_of(said, "lexlabel"))
    if len(labels) != len(words):
        raise ValueError(f"expected {len(words)} labels under 'lexlabel', got {len(labels)}")
    add(making, 0, Expressions(tuple(_lexical(labels, strong)), tuple(weak)))
    return making.done()


def _groups(value: Any, words: int, key: str) -> list[Group]:
    """Return expressions of two words or more that share none, ascending."""
    found = [tuple(a_number(word) for word in a_list(each)) for each in a_list(value)]
    every = [word for group in found for word in group]
    for group in found:
        if len(group) < 2 or not 0 <= min(group) <= max(group) < words:
            raise ValueError(
                f"expected two of {words} words or more under {key!r}, got {group!r:.60}"
            )
    if len(set(every)) < len(every) or any(sorted(group) != [*group] for group in found):
        raise ValueError(f"expected ascending words under {key!r}, each once, got {found!r:.60}")
    return sorted(found)


def _lexical(labels: list[Any], strong: list[Group]) -> Iterator[Lexical]:
    """Yield the lexical expressions, ascending."""
    inside = {word for group in strong for word in group}
    alone = ((word,) for word in range(len(labels)) if word not in inside)
    for words in sorted((*strong, *alone)):
        if any(labels[word] is not None for word in words[:-1]):
            raise ValueError(f"expected the label at the last word of {words!r:.60}")
        label = labels[words[-1]]
        category, hyphen, sense = ("", "", "") if label is None else a_string(label).partition("-")
        if label is not None and (
            not category or (hyphen and not sense) or "|" in label or label == NONE
        ):
            raise ValueError(f"expected CATEGORY-SENSE or CATEGORY, got {label!r:.60}")
        yield Lexical(words, "" if category == NONE else category, sense.replace(":", "|"))


def _sentences(document: Document) -> Iterator[dict[str, Any]]:
    """Yield what is said of each sentence."""
    laid = Laid(document)
    attributes = laid.values(SENTENCES)
    several = len(laid.words.sentences) > 1
    for number, said in enumerate(Lexicon(laid).sentences()):
        first, end = laid.words.sentences[number]
        said_id = (each.value for each in attributes.get(number, ()) if each.label == "sent_id")
        name = own(document) if document.name else None
        if name and several:
            name = f"{name}-{number + 1:04}"
        labels: list[str | None] = [None] * (end - first)
        for each in said.lexical:
            labels[each.words[-1]] = _label(each)
        values = (next(said_id, name), laid.forms[first:end], labels, said.strong, said.weak)
        yield dict(zip(_KEYS, values, strict=True))


def _label(said: Lexical) -> str | None:
    """Return the label of an expression, None where nothing is known of it."""
    category = NONE if re.search(r"^$|-", said.category) else said.category
    if said.sense:
        return f"{category}-{said.sense.replace('|', ':')}"
    return None if category == NONE else category


def _spelt(said: dict[str, Any], number: str) -> str:
    """Return a line; ``number`` is the name of a sentence that has none."""
    if said["sent_id"] is None:
        said["sent_id"] = number
    line = json.dumps(said, ensure_ascii=False)
    half = "\ud800" <= max(line) and any("\ud800" <= char <= "\udfff" for char in line)
    return json.dumps(said) if half else line  # half a character has no UTF-8


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when the lines are read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the keys of the first line."""
    return re.match(r'\s*\{"sent_id": "[^"]*", "toks": \[', head) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".jsonl",),
    '{"sent_id": "a-1", "toks": ["Have", "a", "mechanic", "check", "it", "out", "for", "you", "."],'
    ' "lexlabel": ["V-v.social", "DET", "N-n.PERSON", null, "PRON", "V.VPC.full-v.cognition", '
    '"P-p.Beneficiary:p.Goal", "PRON", "PUNCT"], "smwe": [[3, 5]], "wmwe": [[0, 3, 5]]}\n'
    '{"sent_id": "a-2", "toks": ["Ok"], "lexlabel": [null], "smwe": [], "wmwe": []}\n',
)
