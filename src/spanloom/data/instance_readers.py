"""What a task reads of a document: its sentences, the whole of it, a query and it, choices and it.

Tasks of equal readings are served by one pass of the encoder (DESIGN: one pass a key).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Protocol, runtime_checkable

from spanloom.data.instances import (
    Ids,
    Instance,
    InstanceLimits,
    Prompt,
    TokenizedDocument,
    build_instance,
    build_instances,
    task_token,
)
from spanloom.data.windows import pack
from spanloom.tokenization import Bounds

PromptTokenizer = Callable[[str], Prompt]  # words and pieces of a text that stands in no document
_BETWEEN = 1  # special pieces between a prompt and a text


@runtime_checkable
class DocumentReader(Protocol):
    """How a document becomes units; equal shapes make equal units."""

    def instances(
        self, document: int, cut: TokenizedDocument, sizes: InstanceLimits, cutter: PromptTokenizer
    ) -> Iterator[Instance]:
        """Yield the units of a document; ``document`` is its row."""

    def count_shortened(self, cut: TokenizedDocument, window: int) -> int:
        """Count the texts of which the first words alone are read, as others are read with them."""


@dataclass(frozen=True, slots=True)
class InstanceReader:
    """What a task reads.

    The token of the task of number ``token`` stands before each sentence, which is then read alone
    (TE⊕Enc): a word with learnt vectors of its own.
    ``pages`` is how many windows make a unit in training; in use a unit is what memory allows.
    """

    reader: DocumentReader
    task_number: int | None = None
    max_windows: int = 1

    @property
    def key(self) -> tuple[DocumentReader, int | None]:
        """What decides the vectors: one encoder pass for each different key."""
        return self.reader, self.task_number

    def instances(
        self, document: int, cut: TokenizedDocument, sizes: InstanceLimits, cutter: PromptTokenizer
    ) -> Iterator[Instance]:
        """Yield the units of a document; ``document`` is its row."""
        if self.task_number is None:
            yield from self.reader.instances(document, cut, sizes, cutter)
            return
        token = task_token(self.task_number)
        left = max(1, sizes.window - sum(map(len, token.pieces)) - _BETWEEN)
        alone = replace(sizes, window=left, instance=left, isolate_sentences=True)
        for instance in self.reader.instances(document, cut, alone, cutter):
            yield replace(instance, prompt=_joined(token, instance.prompt))


@dataclass(frozen=True, slots=True)
class SentenceReader:
    """Whole sentences, as many as a window holds: what most tasks read."""

    def instances(
        self, document: int, cut: TokenizedDocument, sizes: InstanceLimits, cutter: PromptTokenizer
    ) -> Iterator[Instance]:
        """Yield units of whole sentences."""
        return build_instances(document, cut, sizes)

    def count_shortened(self, cut: TokenizedDocument, window: int) -> int:
        """All of a text is read."""
        return 0


@dataclass(frozen=True, slots=True)
class TextReader:
    """A document with a vector of what opens it; of two parts the first is read as a prompt."""

    def instances(
        self, document: int, cut: TokenizedDocument, sizes: InstanceLimits, cutter: PromptTokenizer
    ) -> Iterator[Instance]:
        """Yield one unit."""
        (a, b), (c, d) = cut.text_pair or ((0, 0), (0, len(cut.words)))
        text = _part(cut, c, d)
        ahead = Prompt(cut.tokens[a:b], cut.pieces[a:b])
        yield replace(_whole(document, text, ahead, sizes), first_word=c, wants_cls=True)

    def count_shortened(self, cut: TokenizedDocument, window: int) -> int:
        """Of two parts the first may be too long."""
        a, b = cut.text_pair[0] if cut.text_pair else (0, 0)
        return int(not _fits(cut.pieces[a:b], window))


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Each query of a document with the whole of it, and a vector of what opens both."""

    def instances(
        self, document: int, cut: TokenizedDocument, sizes: InstanceLimits, cutter: PromptTokenizer
    ) -> Iterator[Instance]:
        """Yield one unit a query."""
        for row, query in enumerate(cut.queries):
            yield replace(_whole(document, cut, query, sizes), wants_cls=True, query=row)

    def count_shortened(self, cut: TokenizedDocument, window: int) -> int:
        """Queries may be too long."""
        return sum(not _fits(query.pieces, window) for query in cut.queries)


@dataclass(frozen=True, slots=True)
class ChoiceReader:
    """All choices as the text from which one is extracted (SpEx, section 3.1).

    A document is read as the prompt; of two parts the first stands before the choices, and the
    second is the prompt. One that is too long for a window makes several units.
    """

    choices: tuple[str, ...]

    def instances(
        self, document: int, cut: TokenizedDocument, sizes: InstanceLimits, cutter: PromptTokenizer
    ) -> Iterator[Instance]:
        """Yield a unit for each stretch of the prompt."""
        (a, b), (c, d) = cut.text_pair or ((0, 0), (0, len(cut.words)))
        said = [cutter(choice) for choice in self.choices]
        ends = accumulate((len(each.tokens) for each in said), initial=b - a)
        bounds = tuple(pairwise(ends))
        text = (*cut.tokens[a:b], *chain.from_iterable(each.tokens for each in said))
        pieces = (*cut.pieces[a:b], *chain.from_iterable(each.pieces for each in said))
        room = max(1, sizes.window // 2, sizes.window - sum(map(len, pieces)) - _BETWEEN)
        for first, last in pack(list(map(len, cut.pieces[c:d])), room) or [(0, 0)]:
            read = slice(c + first, c + last)
            # one word may have more pieces than there is room for: its first ones are read
            ahead = Prompt(cut.tokens[read], tuple(ids[:room] for ids in cut.pieces[read]))
            every = ((0, len(text)),)
            made = Instance(document, a, cut.words[a:b], text, pieces, every, every, ahead)
            yield replace(made, wants_cls=True, choices=bounds)

    def count_shortened(self, cut: TokenizedDocument, window: int) -> int:
        """A text too long for a window makes several units."""
        return 0


def _whole(
    document: int, cut: TokenizedDocument, prompt: Prompt, sizes: InstanceLimits
) -> Instance:
    """One unit of all sentences, packed into windows that have room for the prompt too."""
    kept = _shortened(prompt, sizes.window)
    lengths = [sum(map(len, cut.pieces[a:b])) for a, b in cut.sentences]
    ahead = sum(map(len, kept.pieces)) + _BETWEEN if kept.pieces else 0
    windows = pack(lengths, 1 if sizes.isolate_sentences else sizes.window - ahead)
    if not windows:
        return Instance(document, 0, (), (), (), (), (), kept)
    return replace(build_instance(document, cut, windows, sizes), prompt=kept)


def _part(cut: TokenizedDocument, first: int, last: int) -> TokenizedDocument:
    """The words of a part, with the sentences they make."""
    inside: list[Bounds] = []
    for start, end in cut.sentences:
        a, b = max(start, first), min(end, last)
        if a < b:
            inside.append((a - first, b - first))
    words, forms, pieces = cut.words[first:last], cut.tokens[first:last], cut.pieces[first:last]
    inner = frozenset(word - first for word in cut.sentence_splits if first < word < last)
    return TokenizedDocument(words, forms, pieces, tuple(inside), sentence_splits=inner)


def _shortened(prompt: Prompt, window: int) -> Prompt:
    """The words of a prompt that have room before a text."""
    if _fits(prompt.pieces, window):
        return prompt
    ends = accumulate(map(len, prompt.pieces))
    kept = sum(end <= window // 2 for end in ends)
    return Prompt(prompt.tokens[:kept], prompt.pieces[:kept])


def _fits(pieces: Ids, window: int) -> bool:
    """Whether all words of a prompt have room before a text."""
    return sum(map(len, pieces)) <= window // 2


def _joined(first: Prompt, second: Prompt) -> Prompt:
    return Prompt(first.tokens + second.tokens, first.pieces + second.pieces, first.task_number)
