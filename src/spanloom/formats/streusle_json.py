"""Read and write STREUSLE's sentences as JSON lines: words, lexical expressions, and their labels.

::

    {"sent_id": "a", "toks": ["Buyer", "Beware", "!"], "lexlabel": ["N-n.PERSON", "V", "PUNCT"],
     "smwe": [], "wmwe": [[0, 1]]}

A label, category and sense, is given at the last word of its expression, null at those before; a
colon separates two senses (role and function). ``smwe`` are strong multiword expressions, ``wmwe``
weak ones. A line is a document, its text the words with a blank between any two; see
``conllulex`` for the layers.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from spanloom.annotation.multiword_expressions import NONE, Expressions, Group, Lexical
from spanloom.config.options import Options
from spanloom.document import SENTENCES, Document
from spanloom.formats._base import Format
from spanloom.formats._document_builder import Names, default_name, id_in_file
from spanloom.formats._json import (
    a_list,
    a_number,
    a_string,
    json_lines,
    list_of,
    only,
    string_of,
    strings_of,
    value_of,
)
from spanloom.formats._mwe_layers import Lexicon, add
from spanloom.formats._text import errors_at
from spanloom.formats._word_view import WordView

_KEYS = ("sent_id", "toks", "lexlabel", "smwe", "wmwe")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of every line that is not blank; raises ``FormatError`` with the line."""
    names = Names()
    for number, record in json_lines(text, path):
        with errors_at(path, number, "not a sentence: "):
            yield _build_document(record, names)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return one line per sentence."""
    records = enumerate(
        (record for document in documents for record in _sentence_records(document)), 1
    )
    return "".join(_format_line(record, default_name(number)) + "\n" for number, record in records)


def _build_document(record: dict[str, Any], names: Names) -> Document:
    """Return the document of one line; raises ``ValueError``."""
    only(record, *_KEYS)
    sent_id = string_of(record, "sent_id")
    words = strings_of(record, "toks")
    if not words or "" in words:
        raise ValueError("expected words under 'toks', each of a character at least")
    builder = names.making(sent_id)
    builder.sentence(words)
    strong, weak = (
        _parse_groups(value_of(record, key), len(words), key) for key in ("smwe", "wmwe")
    )
    labels = list_of(record, "lexlabel")
    if len(labels) != len(words):
        raise ValueError(f"expected {len(words)} labels under 'lexlabel', got {len(labels)}")
    add(builder, 0, Expressions(tuple(_parse_lexical(labels, strong)), tuple(weak)))
    return builder.build()


def _parse_groups(value: Any, words: int, key: str) -> list[Group]:
    """Return ascending expressions of at least two words, none shared; raises ``ValueError``."""
    groups = [tuple(a_number(word) for word in a_list(group)) for group in a_list(value)]
    all_words = [word for group in groups for word in group]
    for group in groups:
        if len(group) < 2 or not 0 <= min(group) <= max(group) < words:
            raise ValueError(
                f"expected two of {words} words or more under {key!r}, got {group!r:.60}"
            )
    if len(set(all_words)) < len(all_words) or any(sorted(group) != [*group] for group in groups):
        raise ValueError(f"expected ascending words under {key!r}, each once, got {groups!r:.60}")
    return sorted(groups)


def _parse_lexical(labels: list[Any], strong: list[Group]) -> Iterator[Lexical]:
    """Yield the lexical expressions, ascending; raises ``ValueError``."""
    strong_words = {word for group in strong for word in group}
    single_words = ((word,) for word in range(len(labels)) if word not in strong_words)
    for words in sorted((*strong, *single_words)):
        if any(labels[word] is not None for word in words[:-1]):
            raise ValueError(f"expected the label at the last word of {words!r:.60}")
        label = labels[words[-1]]
        category, hyphen, sense = ("", "", "") if label is None else a_string(label).partition("-")
        if label is not None and (
            not category or (hyphen and not sense) or "|" in label or label == NONE
        ):
            raise ValueError(f"expected CATEGORY-SENSE or CATEGORY, got {label!r:.60}")
        yield Lexical(words, "" if category == NONE else category, sense.replace(":", "|"))


def _sentence_records(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the record of each sentence."""
    view = WordView(document)
    attributes = view.values(SENTENCES)
    has_many = len(view.words.sentences) > 1
    for number, expressions in enumerate(Lexicon(view).sentences()):
        first, end = view.words.sentences[number]
        kept_ids = (
            attribute.value
            for attribute in attributes.get(number, ())
            if attribute.label == "sent_id"
        )
        name = id_in_file(document) if document.name else None
        if name and has_many:
            name = f"{name}-{number + 1:04}"
        labels: list[str | None] = [None] * (end - first)
        for lexical in expressions.lexical:
            labels[lexical.words[-1]] = _lex_label(lexical)
        values = (
            next(kept_ids, name),
            view.tokens[first:end],
            labels,
            expressions.strong,
            expressions.weak,
        )
        yield dict(zip(_KEYS, values, strict=True))


def _lex_label(lexical: Lexical) -> str | None:
    """Return the label of an expression, None if it has neither category nor sense."""
    category = NONE if re.search(r"^$|-", lexical.category) else lexical.category
    if lexical.sense:
        return f"{category}-{lexical.sense.replace('|', ':')}"
    return None if category == NONE else category


def _format_line(record: dict[str, Any], number: str) -> str:
    """Return a line; ``number`` is the id of a sentence that has none."""
    if record["sent_id"] is None:
        record["sent_id"] = number
    line = json.dumps(record, ensure_ascii=False)
    has_surrogates = "\ud800" <= max(line) and any("\ud800" <= char <= "\udfff" for char in line)
    return json.dumps(record) if has_surrogates else line  # a lone surrogate has no UTF-8


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the keys of the first line."""
    return re.match(r'\s*\{"sent_id": "[^"]*", "toks": \[', head) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".jsonl",),
    '{"sent_id": "a-1", "toks": ["Have", "a", "mechanic", "check", "it", "out", "for", "you", "."],'
    ' "lexlabel": ["V-v.social", "DET", "N-n.PERSON", null, "PRON", "V.VPC.full-v.cognition", '
    '"P-p.Beneficiary:p.Goal", "PRON", "PUNCT"], "smwe": [[3, 5]], "wmwe": [[0, 3, 5]]}\n'
    '{"sent_id": "a-2", "toks": ["Ok"], "lexlabel": [null], "smwe": [], "wmwe": []}\n',
)
