"""Read and write CoNLL-U-Lex, the files of STREUSLE: CoNLL-U and nine lexical columns.

| column | document |
|---|---|
| the first ten, comments | as in ``conllu``; entities in MISC stay there |
| SMWE, WMWE (``2:1``) | layer ``mwe``: strong and weak multiword expressions |
| SS, SS2 | layer ``supersenses``; ``ss2`` of a word if it does not follow from SS |
| LEXCAT | attribute ``lexcat`` of an expression's first word |
| LEXLEMMA, WCAT, WLEMMA | attributes of that word, lemmas if they are not those of the words |
| LEXTAG | inferred from the others (``annotation.multiword_expressions``), else an attribute |

See https://github.com/nert-nlp/streusle/blob/master/CONLLULEX.md and Schneider and Smith (2015).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from spanloom.annotation.multiword_expressions import (
    ExpressionError,
    Expressions,
    Group,
    Lexical,
    tags,
)
from spanloom.config.options import Options
from spanloom.document import WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats import _conllu as universal
from spanloom.formats._base import Format
from spanloom.formats._conllu import LEMMA, NONE, Part, Row, Sentence, lay, parts
from spanloom.formats._conllu_layers import add, create_layers
from spanloom.formats._conllu_rows import Block, blocks, fits, mark
from spanloom.formats._mwe_layers import Lexicon
from spanloom.formats._mwe_layers import add as add_expressions
from spanloom.formats._word_view import WordView

_LEXICAL = ("SMWE", "LEXCAT", "LEXLEMMA", "SS", "SS2", "WMWE", "WCAT", "WLEMMA", "LEXTAG")
_COLUMNS = (*universal.COLUMNS, *_LEXICAL)
_SMWE, _LEXCAT, _LEXLEMMA, _SS, _SS2, _WMWE, _WCAT, _WLEMMA, _LEXTAG = range(10, 19)
_MEMBER = re.compile(r"([1-9][0-9]{0,8}):([1-9][0-9]{0,8})")
_ATTRIBUTES = {_LEXLEMMA: "lexlemma", _SS2: "ss2", _WCAT: "wcat", _WLEMMA: "wlemma"}
_ATTRIBUTES |= {_LEXTAG: "lextag"}

Cells = dict[int, list[str]]  # by column, a cell per word


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents of a file; raises ``FormatError`` with the line."""
    for part in parts(text, path, _COLUMNS):
        yield _document(part, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the file; annotations that no cell can hold are left out."""
    written = []
    for document in documents:
        view = WordView(document)
        sentence_blocks = blocks(view)
        _add_cells(view, sentence_blocks)
        written.append((document, sentence_blocks))
    mark(written, add_missing=False)
    sentences = (block for _, sentence_blocks in written for block in sentence_blocks)
    return "".join("\n".join(block.lines(len(_LEXICAL))) + "\n\n" for block in sentences)


def _document(part: Part, path: str) -> Document:
    """Return one document; raises ``FormatError``."""
    builder = part.builder
    annotated_columns = create_layers(part)
    for sentence in part.sentences:
        first = lay(builder, sentence).start
        add(builder, sentence, annotated_columns, {}, path)
        expressions = _ExpressionReader(sentence, path).expressions()
        add_expressions(builder, first, expressions)
        inferred = _lexical_cells(expressions, [row.cells[LEMMA] for row in sentence.words], {})
        for number, row in enumerate(sentence.words):
            for column, name in _ATTRIBUTES.items():
                cell = row.cells[column]
                if cell != inferred[column][number]:
                    value = None if cell == NONE else cell
                    builder.attribute(WORDS, name, builder.words[first + number], value)
    return builder.build()


@dataclass(frozen=True)
class _ExpressionReader:
    """Reads the expressions of a sentence."""

    sentence: Sentence
    path: str

    def expressions(self) -> Expressions:
        """Return the expressions; raises ``FormatError``: bad member numbers, misplaced cells."""
        words = self.sentence.words
        for row in (*(row for *_, row in self.sentence.tokens), *self._empty_rows):
            self._require_empty(row, range(_SMWE, _LEXTAG + 1))
        strong_groups, weak_groups = self._expression_groups(_SMWE), self._expression_groups(_WMWE)
        strong_words = {word for group in strong_groups for word in group}
        single_words = [(word,) for word in range(len(words)) if word not in strong_words]
        lexical = []
        for group in sorted((*strong_groups, *single_words)):
            for word in group[1:]:
                self._require_empty(words[word], (_LEXCAT, _LEXLEMMA, _SS, _SS2))
            first = words[group[0]].cells
            if "|" in first[_SS] + first[_SS2]:
                problem = f"expected one sense as SS and SS2, got {first[_SS]!r:.60}"
                raise FormatError(self.path, words[group[0]].line, problem)
            category = "" if first[_LEXCAT] == NONE else first[_LEXCAT]
            lexical.append(Lexical(group, category, _join_senses(first[_SS], first[_SS2])))
        return Expressions(tuple(lexical), tuple(weak_groups))

    @property
    def _empty_rows(self) -> list[Row]:
        return [row for _, row in self.sentence.empty]

    def _require_empty(self, row: Row, columns: Iterable[int]) -> None:
        """Raise ``FormatError`` for a row with a value in one of these columns."""
        for column in columns:
            if row.cells[column] != NONE:
                got = f"got {row.cells[column]!r:.60}"
                raise FormatError(self.path, row.line, f"expected _ as {_COLUMNS[column]}, {got}")

    def _expression_groups(self, column: int) -> list[Group]:
        """Return the expressions that a column numbers, ascending; raises ``FormatError``."""
        groups: dict[str, list[int]] = {}
        last_lines: dict[str, int] = {}
        for number, row in enumerate(self.sentence.words):
            cell = row.cells[column]
            if cell == NONE:
                continue
            member = _MEMBER.fullmatch(cell)
            group = groups.setdefault(member[1], []) if member else []
            if member is None or int(member[2]) != len(group) + 1:
                problem = f"expected GROUP:{len(group) + 1} as {_COLUMNS[column]}, got {cell!r:.60}"
                raise FormatError(self.path, row.line, problem)
            group.append(number)
            last_lines[member[1]] = row.line
        for name, words in groups.items():
            if len(words) < 2:
                problem = f"expected two words or more of {_COLUMNS[column]} {name}, got one"
                raise FormatError(self.path, last_lines[name], problem)
        return sorted(tuple(words) for words in groups.values())


def _join_senses(role: str, function: str) -> str:
    """Return one label for role and function: the role alone if they are equal."""
    if role == NONE:
        return ""
    return role if function in (NONE, role) else f"{role}|{function}"


def _add_cells(view: WordView, sentence_blocks: Sequence[Block]) -> None:
    """Add the lexical cells of each word."""
    attributes = view.values(WORDS)
    for number, (block, expressions) in enumerate(
        zip(sentence_blocks, Lexicon(view).sentences(), strict=True)
    ):
        first, end = view.words.sentences[number]
        word_attributes = {row - first: attributes.get(row, []) for row in range(first, end)}
        cells = _lexical_cells(expressions, [word[LEMMA] for word in block.words], word_attributes)
        for row, word in enumerate(block.words):
            further = [cells[column][row] for column in range(_SMWE, _LEXTAG + 1)]
            block.further[word[0]] = [cell if fits(cell) else NONE for cell in further]


def _lexical_cells(
    expressions: Expressions,
    lemmas: Sequence[str],
    word_attributes: Mapping[int, Iterable[Attribute]],
) -> Cells:
    """Return the lexical cells by column; attributes of words override inferred cells."""
    cells = {column: [NONE] * len(lemmas) for column in range(_SMWE, _LEXTAG + 1)}
    groups = [(words[0], _SMWE, words) for words in expressions.strong]
    groups += [(words[0], _WMWE, words) for words in expressions.weak]
    for number, (_, column, words) in enumerate(sorted(groups), 1):
        for index, word in enumerate(words, 1):
            cells[column][word] = f"{number}:{index}"
    for lexical in expressions.lexical:
        first = lexical.words[0]
        role, _, function = lexical.sense.partition("|")
        cells[_LEXCAT][first] = lexical.category or NONE
        cells[_LEXLEMMA][first] = _expression_lemma(lexical.words, lemmas)
        cells[_SS][first] = role or NONE
        cells[_SS2][first] = function or (role if role[:1] in ("p", "`") else NONE) or NONE
    for words in expressions.weak:
        cells[_WLEMMA][words[0]] = _expression_lemma(words, lemmas)
    cells[_LEXTAG] = _lex_tags(expressions)
    column_of_attribute = {name: column for column, name in _ATTRIBUTES.items()}
    for word, attributes in word_attributes.items():
        for attribute in attributes:
            if attribute.label in column_of_attribute and (
                attribute.value is None or fits(attribute.value)
            ):
                cells[column_of_attribute[attribute.label]][word] = attribute.value or NONE
    return cells


def _expression_lemma(words: Iterable[int], lemmas: Sequence[str]) -> str:
    """Return the lemmas of an expression, ``_`` if one is unknown."""
    word_lemmas = [lemmas[word] for word in words]
    return NONE if NONE in word_lemmas else " ".join(word_lemmas)


def _lex_tags(expressions: Expressions) -> list[str]:
    """Return one tag per word; weak expressions that the tags cannot encode are left out."""
    try:
        return tags(expressions)
    except ExpressionError:
        lex_tags = [NONE] * sum(len(lexical.words) for lexical in expressions.lexical)
    kept_weak: list[Group] = []
    for weak in ((), *((group,) for group in expressions.weak)):
        with suppress(ExpressionError):
            lex_tags = tags(Expressions(expressions.lexical, (*kept_weak, *weak)))
            kept_weak += weak
    return lex_tags


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first row: nineteen columns, the first one an id."""
    for line in head.split("\n"):
        if line.strip() and not line.startswith("#"):
            cells = line.rstrip("\r").split("\t")
            is_first_word = re.fullmatch(r"1(?:-[0-9]+)?|0\.1", cells[0]) is not None
            return is_first_word and len(cells) == len(_COLUMNS)
    return False


_EXAMPLE = """\
# newdoc id = sample
# sent_id = sample-1
# text = Have a mechanic check out for you.
# mwe = Have~ a mechanic ~check_out for you .
1\tHave\thave\tVERB\tVB\t_\t0\troot\t0:root\t_\t_\tV\thave\tv.social\t_\t1:1\t_\thave check out\t\
B-V-v.social
2\ta\ta\tDET\tDT\t_\t3\tdet\t3:det\t_\t_\tDET\ta\t_\t_\t_\t_\t_\to-DET
3\tmechanic\tmechanic\tNOUN\tNN\tNumber=Sing\t1\tobj\t1:obj|4:nsubj\t_\t_\tN\tmechanic\tn.PERSON\t_\t_\t_\t_\t\
o-N-n.PERSON
4\tcheck\tcheck\tVERB\tVB\t_\t1\txcomp\t1:xcomp\t_\t2:1\tV.VPC.full\tcheck out\t\
v.cognition\t_\t1:2\t_\t_\tI~-V.VPC.full-v.cognition
5\tout\tout\tADP\tRP\t_\t4\tcompound:prt\t4:compound:prt\t_\t2:2\t_\t_\t_\t_\t1:3\t_\t_\tI_
6\tfor\tfor\tADP\tIN\t_\t7\tcase\t7:case\t_\t_\tP\tfor\tp.Beneficiary\tp.Goal\t_\t_\t_\t\
O-P-p.Beneficiary|p.Goal
7\tyou\tyou\tPRON\tPRP\tCase=Acc\t4\tobl\t4:obl:for\tSpaceAfter=No\t_\tPRON\tyou\t_\t_\t_\t_\t_\t\
O-PRON
8\t.\t.\tPUNCT\t.\t_\t1\tpunct\t1:punct\t_\t_\tPUNCT\t.\t_\t_\t_\t_\t_\tO-PUNCT

"""

KIND = Format(loads, dumps, _sniff, (".conllulex",), _EXAMPLE)
