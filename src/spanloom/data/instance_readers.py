"""Build the instances of a document: its sentences, or all of it, with a query or choices.

Tasks with equal readers share one pass of the encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol, runtime_checkable

from spanloom.data.choice_bounds import check_distinct, place_choices
from spanloom.data.instances import (
    Instance,
    InstanceLimits,
    Prompt,
    TokenizedDocument,
    build_instance,
    build_instances,
    task_token,
)
from spanloom.data.piece_columns import Pieces, num_pieces
from spanloom.data.windows import pack
from spanloom.tokenization import Bounds

PromptTokenizer = Callable[[str], Prompt]  # tokenizes a text that is in no document
_SEPARATORS = 1  # special pieces between a prompt and a text


@runtime_checkable
class DocumentReader(Protocol):
    """Builds the instances of a document; equal readers build equal ones."""

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield the instances of a document; ``document`` is its index."""

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return the number of prompts or first texts truncated to leave room for a text."""


@runtime_checkable
class CheckedReader(Protocol):
    """A reader of words that recipes declare, which a tokenizer may make ambiguous."""

    def check(self, tokenize_prompt: PromptTokenizer) -> None:
        """Raise ``ValueError`` for declared words that cannot be told apart, or found."""


@dataclass(frozen=True, slots=True)
class InstanceReader:
    """What a task reads.

    If ``task_number`` is given, a task token, a word with learnt vectors, precedes each sentence,
    which is an instance of its own (TE⊕Enc). ``max_windows`` is the number of windows per instance
    in training; otherwise memory decides.
    """

    reader: DocumentReader
    task_number: int | None = None
    max_windows: int = 1

    @property
    def key(self) -> tuple[DocumentReader, int | None]:
        """What determines the vectors: tasks with equal keys share an encoder pass."""
        return self.reader, self.task_number

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield the instances of a document; ``document`` is its index."""
        if self.task_number is None:
            yield from self.reader.instances(document, tokens, limits, tokenize_prompt)
            return
        token = task_token(self.task_number)
        room = max(1, limits.window - num_pieces(token.pieces) - _SEPARATORS)
        single = replace(limits, window=room, instance=room, isolate_sentences=True)
        for instance in self.reader.instances(document, tokens, single, tokenize_prompt):
            yield replace(instance, prompt=_concatenate(token, instance.prompt))

    def check(self, tokenize_prompt: PromptTokenizer) -> None:
        """Raise ``ValueError`` for words of the recipe that do not fit the tokenizer."""
        if isinstance(self.reader, CheckedReader):
            self.reader.check(tokenize_prompt)


@dataclass(frozen=True, slots=True)
class SentenceReader:
    """Instances of whole sentences, as many as fit into a window; for most tasks."""

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield instances of whole sentences."""
        return build_instances(document, tokens, limits)

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return 0."""
        return 0


@dataclass(frozen=True, slots=True)
class SegmentReader:
    """Instances of whole sentences in segments that are encoded independently of each other.

    A segment has as many sentences as fit into ``pieces`` pieces, in training and in use alike
    (Joshi et al. 2019, section 3).
    """

    pieces: int

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield instances of segments; in training as many as the limits have windows."""
        segment = min(self.pieces, limits.window)
        windows = max(1, limits.instance // limits.window)
        is_joined = limits.rng is None and not limits.isolate_sentences
        instance = limits.instance if is_joined else segment * windows
        in_segments = replace(limits, window=segment, instance=instance, rng=None)
        return build_instances(document, tokens, in_segments)

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return 0."""
        return 0


@dataclass(frozen=True, slots=True)
class TextReader:
    """One instance of a document, with a ``[CLS]`` vector; the first of two texts is the prompt."""

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield one instance."""
        (a, b), (c, d) = tokens.text_pair or ((0, 0), (0, len(tokens.words)))
        text = _part(tokens, c, d)
        prompt = Prompt(tokens.tokens[a:b], tokens.pieces[a:b], of_document=a < b)
        instance = _build_text_instance(document, text, prompt, limits)
        yield replace(instance, first_word=c, wants_cls=True)

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return 1 if the first of two texts is too long."""
        (a, b), (c, d) = tokens.text_pair or ((0, 0), (0, 0))
        return int(num_pieces(tokens.pieces[a:b]) > _room(window, tokens.pieces[c:d]))


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """One instance per query of a document, with a ``[CLS]`` vector; the query is the prompt.

    The prompt is read before the text, or after it where ``source_first``. ``no_answer`` is a word
    that ends the text, to be extracted for queries without an answer: the only choice of the
    instance; "" for none.
    """

    source_first: bool = False
    no_answer: str = ""

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield one instance per query."""
        ending = tokenize_prompt(self.no_answer) if self.no_answer else Prompt()
        limits = replace(limits, window=max(1, limits.window - num_pieces(ending.pieces)))
        for index, query in enumerate(tokens.queries):
            prompt = replace(query, after_text=self.source_first)
            instance = _build_text_instance(document, tokens, prompt, limits)
            instance = _append(instance, ending) if ending.tokens else instance
            yield replace(instance, wants_cls=True, query=index)

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return the number of queries that are too long."""
        room = _room(window, tokens.pieces)
        return sum(num_pieces(query.pieces) > room for query in tokens.queries)


@dataclass(frozen=True, slots=True)
class ChoiceReader:
    """Instances whose text is all choices, from which one is extracted (SpEx, section 3.1).

    The document is the prompt; of two texts, the first precedes the choices and the second is the
    prompt, or both are where ``join_texts``. A prompt that is too long for a window is split into
    several instances, a first text is truncated. ``wording`` is the text of all choices, in which
    each is looked up as a phrase; "" for the choices one after the other. The prompt is read before
    the choices, or after them where ``source_first``. ``other_orders`` are further orders of the
    choices, each with its wording: a document has instances for these, too, as where a choice
    stands has a say in it.
    """

    choices: tuple[str, ...]
    wording: str = ""
    join_texts: bool = False
    source_first: bool = False
    other_orders: tuple[tuple[tuple[int, ...], str], ...] = ()

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield an instance for each part of the prompt, and each order of the choices."""
        for wording, choices in self._placed_choices(tokenize_prompt):
            yield from self._instances(document, tokens, limits, wording, choices)

    def _parts(self, tokens: TokenizedDocument) -> tuple[Bounds, Bounds]:
        """Return the words that precede the choices, and those of the prompt."""
        first, second = tokens.text_pair or ((0, 0), (0, len(tokens.words)))
        both = first[0], max(first[1], second[1])  # a text without words has bounds 0, 0
        return ((0, 0), both) if self.join_texts else (first, second)

    def _placed_choices(
        self, tokenize_prompt: PromptTokenizer
    ) -> Iterator[tuple[Prompt, tuple[Bounds, ...]]]:
        """Yield the words of each order of the choices, and where each choice is in them."""
        for order, wording in ((tuple(range(len(self.choices))), self.wording), *self.other_orders):
            ordered = [self.choices[row] for row in order]
            words, bounds = place_choices(ordered, wording, tokenize_prompt)
            yield words, tuple(bounds[order.index(row)] for row in range(len(order)))

    def _instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        wording: Prompt,
        choices: Sequence[Bounds],
    ) -> Iterator[Instance]:
        """Yield an instance for each part of the prompt."""
        (a, b), (c, d) = self._parts(tokens)
        before = _room_before(wording.pieces, tokens.pieces[c:d], limits.window)
        first_text = _truncate(Prompt(tokens.tokens[a:b], tokens.pieces[a:b]), before)
        b = a + len(first_text.tokens)
        bounds = tuple((b - a + start, b - a + end) for start, end in choices)
        text = (*first_text.tokens, *wording.tokens)
        pieces = (*first_text.pieces, *wording.pieces)
        room = max(1, _room(limits.window, pieces))
        for first, last in pack(list(map(len, tokens.pieces[c:d])), room) or [(0, 0)]:
            part = slice(c + first, c + last)
            # a single word may have more pieces than fit: the first ones are kept
            prompt = Prompt(
                tokens.tokens[part],
                tuple(ids[:room] for ids in tokens.pieces[part]),
                after_text=self.source_first,
                of_document=True,
            )
            all_words = ((0, len(text)),)
            yield Instance(
                document,
                a,
                tokens.words[a:b],
                text,
                pieces,
                all_words,
                all_words,
                prompt,
                wants_cls=True,
                choices=bounds,
                corpus=tokens.corpus,
            )

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return 1 if the first of two texts is too long for the choices and half a window."""
        (a, b), (c, d) = self._parts(tokens)
        if a == b:
            return 0
        wordings = [wording for wording, _ in self._placed_choices(tokenize_prompt)]
        rooms = (_room_before(words.pieces, tokens.pieces[c:d], window) for words in wordings)
        return int(num_pieces(tokens.pieces[a:b]) > min(rooms))

    def check(self, tokenize_prompt: PromptTokenizer) -> None:
        """Raise ``ValueError`` for choices that the encoder reads alike, or that are not found."""
        check_distinct(self.choices, [tokenize_prompt(choice) for choice in self.choices])
        for _ in self._placed_choices(tokenize_prompt):
            pass


def _append(instance: Instance, ending: Prompt) -> Instance:
    """Return an instance whose text has some further words, which are its only choice."""
    size, added = len(instance.tokens), len(ending.tokens)
    sentences, windows = (
        (*bounds[:-1], (bounds[-1][0] if bounds else 0, size + added))
        for bounds in (instance.sentences, instance.windows)
    )
    return replace(
        instance,
        tokens=(*instance.tokens, *ending.tokens),
        pieces=(*instance.pieces, *ending.pieces),
        sentences=sentences,
        windows=windows,
        choices=((size, size + added),),
    )


def _build_text_instance(
    document: int, tokens: TokenizedDocument, prompt: Prompt, limits: InstanceLimits
) -> Instance:
    """Return one instance of all sentences, in windows with room for the prompt."""
    kept = _truncate(prompt, _room(limits.window, tokens.pieces))
    lengths = [num_pieces(tokens.pieces[a:b]) for a, b in tokens.sentences]
    prompt_size = num_pieces(kept.pieces) + _SEPARATORS if kept.pieces else 0
    windows = pack(lengths, 1 if limits.isolate_sentences else limits.window - prompt_size)
    if not windows:
        return Instance(document, 0, (), (), (), (), (), kept, corpus=tokens.corpus)
    return replace(build_instance(document, tokens, windows, limits), prompt=kept)


def _part(tokens: TokenizedDocument, first: int, last: int) -> TokenizedDocument:
    """Return a range of words, with its sentences."""
    sentences: list[Bounds] = []
    for start, end in tokens.sentences:
        a, b = max(start, first), min(end, last)
        if a < b:
            sentences.append((a - first, b - first))
    words, texts, pieces = (
        tokens.words[first:last],
        tokens.tokens[first:last],
        tokens.pieces[first:last],
    )
    splits = frozenset(word - first for word in tokens.sentence_splits if first < word < last)
    return TokenizedDocument(
        words,
        texts,
        pieces,
        tuple(sentences),
        sentence_splits=splits,
        corpus=tokens.corpus,
    )


def _truncate(prompt: Prompt, room: int) -> Prompt:
    """Return the first words of a prompt that fit into ``room`` pieces."""
    if num_pieces(prompt.pieces) <= room:
        return prompt
    ends = accumulate(map(len, prompt.pieces))
    num_words = sum(end <= room for end in ends)
    return replace(prompt, tokens=prompt.tokens[:num_words], pieces=prompt.pieces[:num_words])


def _room(window: int, text: Pieces) -> int:
    """Return how many pieces of a prompt fit into a window with a text; at least half of it."""
    return max(window // 2, window - num_pieces(text) - _SEPARATORS)


def _room_before(choices: Pieces, prompt: Pieces, window: int) -> int:
    """Return how many pieces of a text fit into a window before choices and a prompt.

    The prompt has half of the window at most: a longer one is read in parts.
    """
    part_of_prompt = min(num_pieces(prompt), window // 2)
    return max(0, window - part_of_prompt - _SEPARATORS - num_pieces(choices))


def _concatenate(first: Prompt, second: Prompt) -> Prompt:
    tokens, pieces = first.tokens + second.tokens, (*first.pieces, *second.pieces)
    return replace(second, tokens=tokens, pieces=pieces, task_number=first.task_number)
