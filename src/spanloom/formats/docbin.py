"""Read and write spaCy's DocBin: tokens with tags, a tree, entities, and named groups of spans.

| DocBin | document |
|---|---|
| tokens and blanks | text; layer ``words``, without tokens that are only blanks |
| SENT_START | layer ``sentences``, if any is set |
| LEMMA, MORPH | attributes ``lemma`` and ``feats`` of the word |
| POS, TAG | layers ``upos``, ``xpos`` |
| HEAD, DEP | layer ``dependency``: relations from head to dependent; a root's goes to itself |
| ENT_IOB, ENT_TYPE | layer ``entities``; ENT_ID an attribute, ENT_KB_ID a normalization |
| groups of spans | one layer each; nested ``entities`` are such a group, too |
| ``cats`` | meta ``cats``, as JSON |

Name and meta of a document are stored in its user data. spaCy is needed only when such files are
read or written. See https://spacy.io/api/docbin.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spanloom.annotation.reference_graph import nodes_on_cycles
from spanloom.config.options import Options
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Fragment, Span
from spanloom.formats._base import Format
from spanloom.formats._docbin import Grouped, Row, Tokens, has_signature, pack, unpack
from spanloom.formats._document_builder import DocumentBuilder, Names, default_name
from spanloom.formats._json import a_list, a_string
from spanloom.formats._text import errors_at
from spanloom.formats._word_view import WordView
from spanloom.tokenization import replace_surrogates

ENTITIES, DEPENDENCY = "entities", "dependency"
CATS = "cats"
_TAGS = {"POS": "upos", "TAG": "xpos"}
_COLUMNS = {"LEMMA": "lemma", "MORPH": "feats"}
_FEATS = re.compile(r"[^=|\s]+=[^=|\s]+(?:\|[^=|\s]+=[^=|\s]+)*")
_OUTSIDE, _INSIDE, _BEGIN = 2, 1, 3  # of ENT_IOB; 0 is unset


def loads(
    text: bytes, *, path: str = "<bytes>", options: Options = Options()
) -> Iterator[Document]:
    """Yield the documents of a file; raises ``FormatError``, without a line as bytes have none."""
    names = Names()
    for number, tokens in enumerate(unpack(text, path), 1):
        with errors_at(path, None, f"document {number}: "):
            name = names.of(_stored_name(tokens) or default_name(number))
            yield _TokenReader(tokens, DocumentBuilder(name)).document()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> bytes:
    """Return the file; annotations that DocBin cannot hold are left out."""
    return pack(_TokenWriter(WordView(document)).tokens() for document in documents)


def _stored_name(tokens: Tokens) -> str:
    name = tokens.kept.get("name")
    return name if isinstance(name, str) else ""


@dataclass(frozen=True)
class _TokenReader:
    """Builds a document from tokens; every method raises ``ValueError``."""

    tokens: Tokens
    builder: DocumentBuilder

    def document(self) -> Document:
        """Return the document."""
        tokens, builder = self.tokens, self.builder
        pairs = zip(tokens.words, tokens.spaces, strict=True)
        builder.add_text("".join(word + " " * blank for word, blank in pairs))
        bounds = self._token_bounds()
        word_indices = [index for index, word in enumerate(tokens.words) if not word.isspace()]
        builder.layer(WORDS)
        words = {index: builder.span(WORDS, WORD, bounds[index]) for index in word_indices}
        self._add_sentences(bounds, word_indices)
        for index, word in words.items():
            for column, name in _COLUMNS.items():
                if tokens.rows[index][column]:
                    builder.attribute(WORDS, name, word, tokens.rows[index][column])
        for column, layer in _TAGS.items():
            if any(tokens.rows[index][column] for index in word_indices):
                builder.layer(layer)
            for index in word_indices:
                if tokens.rows[index][column]:
                    builder.span(layer, tokens.rows[index][column], bounds[index])
        self._add_tree(bounds, word_indices)
        self._add_entities(bounds)
        self._add_groups()
        if tokens.cats:
            builder.meta.append((CATS, json.dumps(tokens.cats, ensure_ascii=False)))
        for pair in a_list(tokens.kept.get("meta") or []):
            key, value = map(a_string, a_list(pair))
            builder.meta.append((key, value))
        return builder.build()

    def _token_bounds(self) -> list[Fragment]:
        """Return the character bounds of each token."""
        bounds: list[Fragment] = []
        start = 0
        for word, blank in zip(self.tokens.words, self.tokens.spaces, strict=True):
            bounds.append((start, start + len(word)))
            start += len(word) + blank
        return bounds

    def _add_sentences(self, bounds: list[Fragment], word_indices: list[int]) -> None:
        """Add sentences, from first to last word."""
        sent_starts = [row["SENT_START"] for row in self.tokens.rows]
        first_tokens = [index for index, sent_start in enumerate(sent_starts) if sent_start == 1]
        # spaCy sets the first value in any document, so it alone says nothing
        if not first_tokens or (len(sent_starts) > 1 and not any(sent_starts[1:])):
            return
        self.builder.layer(SENTENCES)
        boundaries = sorted({0, *first_tokens, len(bounds)})
        position = 0
        for end in boundaries[1:]:
            first = position
            while position < len(word_indices) and word_indices[position] < end:
                position += 1
            if first < position:
                start, stop = bounds[word_indices[first]][0], bounds[word_indices[position - 1]][1]
                self.builder.span(SENTENCES, SENTENCE, (start, stop))

    def _add_tree(self, bounds: list[Fragment], word_indices: list[int]) -> None:
        rows = self.tokens.rows
        if not any(rows[index]["DEP"] for index in word_indices):
            return
        spans = {
            index: self.builder.span(DEPENDENCY, WORD, bounds[index]) for index in word_indices
        }
        for index, span in spans.items():
            head = index + rows[index]["HEAD"]
            if not 0 <= head < len(bounds):
                raise ValueError(f"expected the head of token {index} in its text, got {head}")
            if rows[index]["DEP"] and head in spans:
                self.builder.relation(DEPENDENCY, rows[index]["DEP"], spans[head], span)

    def _add_entities(self, bounds: list[Fragment]) -> None:
        """Add flat entities; an inside tag after nothing, or after another type, begins one."""
        rows = self.tokens.rows
        if not any(row["ENT_IOB"] for row in rows):
            return
        self.builder.layer(ENTITIES)
        runs: list[list[int]] = []
        for index, row in enumerate(rows):
            is_adjacent = bool(runs) and runs[-1][1] == index
            if (
                row["ENT_IOB"] == _INSIDE
                and is_adjacent
                and row["ENT_TYPE"] == rows[index - 1]["ENT_TYPE"]
            ):
                runs[-1][1] = index + 1
            elif row["ENT_IOB"] in (_INSIDE, _BEGIN):
                runs.append([index, index + 1])
        for first, end in runs:
            first_row = rows[first]
            fragment = bounds[first][0], bounds[end - 1][1]
            span = self.builder.span(ENTITIES, first_row["ENT_TYPE"], fragment)
            if first_row["ENT_ID"]:
                self.builder.attribute(ENTITIES, "id", span, first_row["ENT_ID"])
            if first_row["ENT_KB_ID"]:
                self.builder.add_normalization(ENTITIES, "kb_id", span, "", first_row["ENT_KB_ID"])

    def _add_groups(self) -> None:
        """Add a layer for each group of spans."""
        layer_names = {WORDS, SENTENCES, DEPENDENCY, *_TAGS.values()}
        if any(row["ENT_IOB"] for row in self.tokens.rows):
            layer_names.add(ENTITIES)
        for name, spans in self.tokens.groups.items():
            layer = name
            while layer in layer_names:
                layer = f"{layer}~"
            layer_names.add(layer)
            self.builder.layer(layer)
            for group_span in spans:
                if not 0 <= group_span.start <= group_span.stop <= self.builder.size:
                    problem = f"expected a span within {self.builder.size} characters"
                    raise ValueError(f"{problem}, got {group_span.start}..{group_span.stop}")
                span = self.builder.span(
                    layer, group_span.label, (group_span.start, group_span.stop)
                )
                if group_span.key:
                    self.builder.add_normalization(layer, "kb_id", span, "", group_span.key)


@dataclass(frozen=True)
class _TokenWriter:
    """The tokens of a document: its words, and a token for each gap that is not a single blank."""

    view: WordView

    def tokens(self) -> Tokens:
        """Return the tokens with all annotations that DocBin can hold."""
        document = self.view.document
        words, spaces, token_of_word = self._split_tokens()
        rows: list[Row] = [dict.fromkeys(("POS", "TAG", "DEP"), "") for _ in words]
        for row in rows:
            row |= dict.fromkeys((*_COLUMNS, "ENT_TYPE", "ENT_KB_ID", "ENT_ID"), "")
            row |= {
                "ENT_IOB": 0,
                "HEAD": 0,
                "SENT_START": -1 if document.has_layer(SENTENCES) else 0,
            }
        tokens = Tokens(words, spaces, rows)
        for first, _ in self.view.words.sentences if document.has_layer(SENTENCES) else ():
            rows[token_of_word[first]]["SENT_START"] = 1
        self._add_columns(rows, token_of_word)
        self._add_tree(rows, token_of_word)
        has_flat_entities = self._add_entities(rows, token_of_word)
        written_layers = {
            WORDS,
            SENTENCES,
            DEPENDENCY,
            *_TAGS.values(),
            *([ENTITIES] if has_flat_entities else []),
        }
        tokens.groups = {
            replace_surrogates(layer.name): list(self._layer_spans(layer.name, token_of_word))
            for layer in document.layers
            if layer.name not in written_layers
        }
        meta = [(key, value) for key, value in document.meta if key != CATS]
        tokens.cats = _parse_cats(dict(document.meta).get(CATS))
        tokens.kept = {"name": replace_surrogates(document.name)} if document.name else {}
        if meta:
            tokens.kept["meta"] = [
                [replace_surrogates(key), replace_surrogates(value)] for key, value in meta
            ]
        return tokens

    def _split_tokens(self) -> tuple[list[str], list[bool], list[int]]:
        """Return tokens, whether a blank follows each, and the token index of each word."""
        text = self.view.document.text
        words: list[str] = []
        spaces: list[bool] = []
        token_of_word: list[int] = []
        position = 0
        for start, end in (*self.view.words.words, (len(text), len(text))):
            gap = text[position:start]
            if gap[:1] == " " and words:
                spaces[-1], gap = True, gap[1:]
            if gap:
                words.append(replace_surrogates(gap))
                spaces.append(False)
            if start < end:
                token_of_word.append(len(words))
                words.append(replace_surrogates(text[start:end]))
                spaces.append(False)
            position = end
        return words, spaces, token_of_word

    def _add_columns(self, rows: list[Row], token_of_word: list[int]) -> None:
        """Add tags, and the attributes of words."""
        from spacy.parts_of_speech import IDS

        for column, layer in _TAGS.items():
            for sentence in self.view.by_sentence(layer)[0]:
                for _, _, span in sentence:
                    word_index = self._single_word(span)
                    tag = replace_surrogates(span.label)
                    if word_index is not None and (column == "TAG" or tag in IDS):
                        cells = rows[token_of_word[word_index]]
                        cells[column] = cells[column] or tag
        for word, attributes in self.view.values(WORDS).items():
            for attribute in attributes:
                for column, name in _COLUMNS.items():
                    fits = column != "MORPH" or _FEATS.fullmatch(attribute.value or "")
                    row = rows[token_of_word[word]]
                    if attribute.label == name and fits and not row[column]:
                        row[column] = replace_surrogates(attribute.value or "")

    def _add_tree(self, rows: list[Row], token_of_word: list[int]) -> None:
        """Add the heads of sentences where they form a tree, as spaCy reads no others."""
        document = self.view.document
        if not document.has_layer(DEPENDENCY):
            return
        word_of_span = {span.id: self._single_word(span) for span in document[DEPENDENCY].spans}
        heads: dict[int, tuple[int, str]] = {}
        for relation in document[DEPENDENCY].relations:
            head, tail = word_of_span.get(relation.head), word_of_span.get(relation.tail)
            if head is not None and tail is not None and relation.label:
                heads.setdefault(tail, (head, replace_surrogates(relation.label)))
        for first, end in self.view.words.sentences:
            sentence_heads = {word: heads[word] for word in range(first, end) if word in heads}
            graph = {word: [head] for word, (head, _) in sentence_heads.items() if head != word}
            is_inside = all(first <= head < end for head, _ in sentence_heads.values())
            if is_inside and not nodes_on_cycles(graph):
                for word, (head, label) in sentence_heads.items():
                    rows[token_of_word[word]] |= {
                        "HEAD": token_of_word[head] - token_of_word[word],
                        "DEP": label,
                    }

    def _add_entities(self, rows: list[Row], token_of_word: list[int]) -> bool:
        """Add entities if none overlap; return whether they were added."""
        document = self.view.document
        by_sentence, lost = self.view.by_sentence(ENTITIES)
        spans = [span for sentence in by_sentence for _, _, span in sentence]
        bounds = sorted((span.start, span.end) for span in spans)
        overlaps = any(
            current[1] > following[0]
            for current, following in zip(bounds, bounds[1:], strict=False)
        )
        has_unlabeled = any(not span.label for span in spans)
        if not document.has_layer(ENTITIES) or lost or overlaps or has_unlabeled or not rows:
            return False
        for row in rows:
            row["ENT_IOB"] = _OUTSIDE
        ids = {
            attribute.target: attribute.value
            for attribute in document[ENTITIES].attributes
            if attribute.label == "id"
        }
        keys = {
            normalization.target: normalization.key
            for normalization in document[ENTITIES].normalizations
        }
        for span in spans:
            first, end = self.view.exact_words(span) or (0, 0)
            for token in range(token_of_word[first], token_of_word[end - 1] + 1):
                is_first = token == token_of_word[first]
                rows[token] |= {
                    "ENT_IOB": _BEGIN if is_first else _INSIDE,
                    "ENT_TYPE": replace_surrogates(span.label),
                    "ENT_ID": replace_surrogates(ids.get(span.id) or ""),
                    "ENT_KB_ID": replace_surrogates(keys.get(span.id) or ""),
                }
        return True

    def _layer_spans(self, layer: str, token_of_word: list[int]) -> Iterator[Grouped]:
        """Yield the spans of a layer that cover whole words without gaps."""
        bounds = self.view.words.words
        starts = {start: word for word, (start, _) in enumerate(bounds)}
        ends = {end: word for word, (_, end) in enumerate(bounds)}
        keys = {
            normalization.target: normalization.key
            for normalization in self.view.document[layer].normalizations
        }
        for span in self.view.document[layer].spans:
            first, last = starts.get(span.start), ends.get(span.end)
            if len(span.fragments) == 1 and first is not None and last is not None:
                tokens = token_of_word[first], token_of_word[last] + 1
                label = replace_surrogates(span.label)
                key = replace_surrogates(keys.get(span.id, ""))
                yield Grouped(label, *tokens, span.start, span.end, key)

    def _single_word(self, span: Span) -> int | None:
        """Return the word that a span covers exactly, None if it is not one word."""
        covered = self.view.exact_words(span)
        return covered[0] if covered and covered[1] - covered[0] == 1 else None


def _parse_cats(text: str | None) -> dict[str, float]:
    """Return the category scores that meta holds; none if it holds something else."""
    try:
        cats: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    is_valid = isinstance(cats, dict) and all(
        type(score) in (int, float) for score in cats.values()
    )
    return (
        {replace_surrogates(key): float(score) for key, score in cats.items()} if is_valid else {}
    )


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the decompressed first bytes."""
    return bool(head) and max(head) < "\u0100" and has_signature(head.encode("latin-1"))


_EXAMPLE = base64.b64decode(
    "eJzrWl6WWlScmZ+32EDPcGliSUlR8RxHTy9vH18//4CzjEfOMh49y3hsWUl+dmpe8VFmhj8mFl5cpbO3MEBBAgMqWM"
    "sIoZmhfDvPQzU/W19aQ4UZYLQZyz3rPm/XfWjaGe44WSQH2D47Fmb5aAMDY218Cpr8QagBTOgaoeA/FMD4lsLVgucc"
    "d2TC+Fcn64tFdq3GpZ1hEw73/0cDuPQvOrTG583N+vW45GGAWPejg1fiLyvrTGJ5aWW+tJltUr/lMw9yzWfEIQ4D7+"
    "y2lyim95mTa/5Ah/+y4oLE5NTiIxyMIJ8C8fKc1Lz0koziIywcQIHlxSVFmXnpxXMXLORaqLfYMSVxsVN+0uIA16Cl"
    "geZGppaLgzNSV4UAs1KqbUBiccmSnNS0kiW5qakly3NT80pA2TA3tWRJcmJJ8cSGpWk5ienFExs3ZSQWx5fmZefll+"
    "fFQ6w/tBpI58WnF+WXFhRPPNLSeKSkeUleYm7q6uT8otS01KLUvORUSG5uWApSWjzpiAa6V9zkRCdvvLzkHJQLizlm"
    "giphYcc+Edm6laXFqUXxKYkliROPqDWuANmak5+f2wR21+JE/SSgP4Fyk5amp+YVpS4pScxJBQDR4fTN"
)

KIND = Format(loads, dumps, _sniff, (".spacy",), _EXAMPLE, binary=True)
