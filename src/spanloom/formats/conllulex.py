"""CoNLL-U-Lex, STREUSLE's files: CoNLL-U and nine columns of lexical semantics.

| column | document |
|---|---|
| the first ten, comments | as ``conllu`` has them; entities in MISC stay there |
| SMWE, WMWE (``2:1``) | layer ``mwe``: strong and weak multiword expressions |
| SS, SS2 | layer ``supersenses``; ``ss2`` of a word where it is none that follows from SS |
| LEXCAT | attribute ``lexcat`` of an expression's first word |
| LEXLEMMA, WCAT, WLEMMA | attributes of that word, lemmas where they are not those of the words |
| LEXTAG | follows from the others (``forms.expressions``); where it does not, an attribute |

See https://github.com/nert-nlp/streusle/blob/master/CONLLULEX.md and Schneider and Smith (2015).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from spanloom.config.options import Options
from spanloom.document import WORDS, Attribute, Document
from spanloom.errors import FormatError
from spanloom.formats import _universal as universal
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lexical import Lexicon
from spanloom.formats._lexical import add as add_expressions
from spanloom.formats._regained import missing
from spanloom.formats._universal import LEMMA, NONE, Part, Row, Sentence, lay, parts
from spanloom.formats._universal_layers import add, annotated
from spanloom.formats._universal_rows import Block, blocks, fits, mark
from spanloom.forms.expressions import ExpressionError, Expressions, Group, Lexical, tags

_LEXICAL = ("SMWE", "LEXCAT", "LEXLEMMA", "SS", "SS2", "WMWE", "WCAT", "WLEMMA", "LEXTAG")
_COLUMNS = (*universal.COLUMNS, *_LEXICAL)
_SMWE, _LEXCAT, _LEXLEMMA, _SS, _SS2, _WMWE, _WCAT, _WLEMMA, _LEXTAG = range(10, 19)
_MEMBER = re.compile(r"([1-9][0-9]{0,8}):([1-9][0-9]{0,8})")
_ATTRIBUTES = {_LEXLEMMA: "lexlemma", _SS2: "ss2", _WCAT: "wcat", _WLEMMA: "wlemma"}
_ATTRIBUTES |= {_LEXTAG: "lextag"}

Cells = dict[int, list[str]]  # one for each word, by column


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents of a file; raises ``FormatError`` with the line."""
    for part in parts(text, path, _COLUMNS):
        yield _document(part, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the file; what no cell holds is left out."""
    every = []
    for document in documents:
        laid = Laid(document)
        made = blocks(laid)
        _tell(laid, made)
        every.append((document, made))
    mark(every, complete=False)
    sentences = (block for _, made in every for block in made)
    return "".join("\n".join(block.lines(len(_LEXICAL))) + "\n\n" for block in sentences)


def _document(part: Part, path: str) -> Document:
    """Return one document."""
    making = part.making
    columns = annotated(part)
    for sentence in part.sentences:
        first = lay(making, sentence).start
        add(making, sentence, columns, {}, path)
        said = _Reader(sentence, path).expressions()
        add_expressions(making, first, said)
        follow = _cells(said, [row.cells[LEMMA] for row in sentence.words], {})
        for number, row in enumerate(sentence.words):
            for column, name in _ATTRIBUTES.items():
                cell = row.cells[column]
                if cell != follow[column][number]:
                    value = None if cell == NONE else cell
                    making.attribute(WORDS, name, making.words[first + number], value)
    return making.done()


@dataclass(frozen=True)
class _Reader:
    """Reads the expressions of a sentence."""

    sentence: Sentence
    path: str

    def expressions(self) -> Expressions:
        """Return them; raises ``FormatError``: members that do not count, cells out of place."""
        words = self.sentence.words
        for row in (*(row for *_, row in self.sentence.tokens), *self._empty):
            self._expect(row, range(_SMWE, _LEXTAG + 1))
        strong, weak = self._groups(_SMWE), self._groups(_WMWE)
        inside = {word for group in strong for word in group}
        alone = [(word,) for word in range(len(words)) if word not in inside]
        lexical = []
        for group in sorted((*strong, *alone)):
            for word in group[1:]:
                self._expect(words[word], (_LEXCAT, _LEXLEMMA, _SS, _SS2))
            first = words[group[0]].cells
            if "|" in first[_SS] + first[_SS2]:
                problem = f"expected one sense as SS and SS2, got {first[_SS]!r:.60}"
                raise FormatError(self.path, words[group[0]].line, problem)
            category = "" if first[_LEXCAT] == NONE else first[_LEXCAT]
            lexical.append(Lexical(group, category, _sense(first[_SS], first[_SS2])))
        return Expressions(tuple(lexical), tuple(weak))

    @property
    def _empty(self) -> list[Row]:
        return [row for _, row in self.sentence.empty]

    def _expect(self, row: Row, columns: Iterable[int]) -> None:
        """Refuse a row that says something in one of these columns."""
        for column in columns:
            if row.cells[column] != NONE:
                got = f"got {row.cells[column]!r:.60}"
                raise FormatError(self.path, row.line, f"expected _ as {_COLUMNS[column]}, {got}")

    def _groups(self, column: int) -> list[Group]:
        """Return the expressions that a column numbers, ascending."""
        found: dict[str, list[int]] = {}
        lines: dict[str, int] = {}
        for number, row in enumerate(self.sentence.words):
            cell = row.cells[column]
            if cell == NONE:
                continue
            member = _MEMBER.fullmatch(cell)
            group = found.setdefault(member[1], []) if member else []
            if member is None or int(member[2]) != len(group) + 1:
                problem = f"expected GROUP:{len(group) + 1} as {_COLUMNS[column]}, got {cell!r:.60}"
                raise FormatError(self.path, row.line, problem)
            group.append(number)
            lines[member[1]] = row.line
        for name, words in found.items():
            if len(words) < 2:
                problem = f"expected two words or more of {_COLUMNS[column]} {name}, got one"
                raise FormatError(self.path, lines[name], problem)
        return sorted(tuple(words) for words in found.values())


def _sense(role: str, function: str) -> str:
    """Return one label of two."""
    if role == NONE:
        return ""
    return role if function in (NONE, role) else f"{role}|{function}"


def _tell(laid: Laid, made: Sequence[Block]) -> None:
    """Add the further cells of each word."""
    attributes = laid.values(WORDS)
    for number, (block, said) in enumerate(zip(made, Lexicon(laid).sentences(), strict=True)):
        first, end = laid.words.sentences[number]
        own = {row - first: attributes.get(row, []) for row in range(first, end)}
        cells = _cells(said, [word[LEMMA] for word in block.words], own)
        for row, word in enumerate(block.words):
            further = [cells[column][row] for column in range(_SMWE, _LEXTAG + 1)]
            block.further[word[0]] = [each if fits(each) else NONE for each in further]


def _cells(
    said: Expressions, lemmas: Sequence[str], own: Mapping[int, Iterable[Attribute]]
) -> Cells:
    """Return the further cells; ``own`` are attributes of words that say otherwise."""
    found = {column: [NONE] * len(lemmas) for column in range(_SMWE, _LEXTAG + 1)}
    kinds = [(words[0], _SMWE, words) for words in said.strong]
    kinds += [(words[0], _WMWE, words) for words in said.weak]
    for number, (_, column, words) in enumerate(sorted(kinds), 1):
        for place, word in enumerate(words, 1):
            found[column][word] = f"{number}:{place}"
    for each in said.lexical:
        first = each.words[0]
        role, _, function = each.sense.partition("|")
        found[_LEXCAT][first] = each.category or NONE
        found[_LEXLEMMA][first] = _lemma(each.words, lemmas)
        found[_SS][first] = role or NONE
        found[_SS2][first] = function or (role if role[:1] in ("p", "`") else NONE) or NONE
    for words in said.weak:
        found[_WLEMMA][words[0]] = _lemma(words, lemmas)
    found[_LEXTAG] = _tags(said)
    names = {name: column for column, name in _ATTRIBUTES.items()}
    for word, attributes in own.items():
        for one in attributes:
            if one.label in names and (one.value is None or fits(one.value)):
                found[names[one.label]][word] = one.value or NONE
    return found


def _lemma(words: Iterable[int], lemmas: Sequence[str]) -> str:
    """Return the lemmas of an expression, _ where one is unknown."""
    found = [lemmas[word] for word in words]
    return NONE if NONE in found else " ".join(found)


def _tags(said: Expressions) -> list[str]:
    """Return one tag a word; weak expressions that tags cannot say as well are left out."""
    try:
        return tags(said)
    except ExpressionError:
        found = [NONE] * sum(len(each.words) for each in said.lexical)
    kept: list[Group] = []
    for weak in ((), *((group,) for group in said.weak)):
        with suppress(ExpressionError):
            found = tags(Expressions(said.lexical, (*kept, *weak)))
            kept += weak
    return found


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when the file is read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the first row: nineteen columns, the first one an id."""
    for line in head.split("\n"):
        if line.strip() and not line.startswith("#"):
            found = line.rstrip("\r").split("\t")
            first = re.fullmatch(r"1(?:-[0-9]+)?|0\.1", found[0]) is not None
            return first and len(found) == len(_COLUMNS)
    return False


_SAMPLE = """\
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

KIND = Format(loads, dumps, _lost, _looks, (".conllulex",), _SAMPLE)
