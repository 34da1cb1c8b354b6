"""Documents as instances: what a task reads at once, with the way back to characters."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from spanloom import long_sentences
from spanloom.annotation.source_corpus import source_corpus
from spanloom.annotation.text_pairs import text_pair
from spanloom.cancellation import checkpoint
from spanloom.data.piece_columns import Ids, Pieces, flat_pieces, num_pieces
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.windows import pack
from spanloom.document import Document
from spanloom.tokenization import Bounds, Split, WordBounds, bounds_array, words_of

MAX_WORD_CHARACTERS = 2_000  # characters of a word that a tokenizer reads
MAX_WORD_PIECES = 512  # of a word that an encoder reads
_KEPT_PROMPTS, _KEPT_LENGTH = 1_000, 200  # prompts of a model, and their characters
_CONTEXT_SHARE = 4  # the context at either end has at most window / this many pieces


@dataclass(frozen=True, slots=True)
class Prompt:
    """Words that are read with a text: a question, a task token, another text ``of_document``.

    They are read before the text, or ``after_text``. ``task_number`` is the number of the task
    whose token the first word is. Such a word has no characters, and its piece is never looked up.
    """

    tokens: tuple[str, ...] = ()
    pieces: Pieces = ()
    task_number: int | None = None
    after_text: bool = False
    of_document: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """Whole sentences of one document, and what is read with them.

    ``words`` are character bounds in the document; ``sentences`` and ``windows`` (sentences that
    an encoder reads at once) are bounds in this instance's words; ``first_word`` is the index of
    its first word among the document's words. Tokens beyond ``words`` (``choices``: their bounds)
    are not part of the document. ``wants_cls`` asks for the vector of ``[CLS]``. ``query`` is the
    index of the document's query that ``prompt`` asks. If a long sentence is read in parts,
    ``sentence_splits`` has the words that begin all parts but the first, and ``window_context`` the
    pieces of the same sentence that are read before and after each window. ``corpus`` is the
    part of a joined corpus that the document comes from, "" if that is not known. Pre-training may
    mask the words of ``maskable`` at once (bounds in all words, prompt included), and learns
    whether the text ``is_next`` to its prompt.
    """

    document: int
    first_word: int
    words: Sequence[Bounds]
    tokens: tuple[str, ...]
    pieces: Pieces
    sentences: tuple[Bounds, ...]
    windows: tuple[Bounds, ...]
    prompt: Prompt = Prompt()
    wants_cls: bool = False
    query: int = 0
    choices: tuple[Bounds, ...] = ()
    sentence_splits: frozenset[int] = frozenset()
    window_context: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    corpus: str = ""
    maskable: tuple[Bounds, ...] = ()
    is_next: bool = True
    num_pieces: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Count its pieces once, without special pieces."""
        total = num_pieces(self.prompt.pieces) + num_pieces(self.pieces)
        object.__setattr__(self, "num_pieces", total)


@dataclass(frozen=True, slots=True)
class TokenizedDocument:
    """A document's words, their characters and pieces, and its sentences as bounds in words.

    A long sentence is stored as several parts; ``sentence_splits`` has the words that begin all of
    them but the first. ``queries`` are the document's prompts, ``text_pair`` the bounds of its two
    texts in words, if it has two. Of ``num_clipped_words`` words only the first characters or
    pieces are read. ``corpus`` is as in ``Instance``.
    """

    words: WordBounds
    tokens: tuple[str, ...]
    pieces: Pieces
    sentences: tuple[Bounds, ...]
    queries: tuple[Prompt, ...] = ()
    text_pair: tuple[Bounds, ...] = ()
    sentence_splits: frozenset[int] = frozenset()
    num_clipped_words: int = 0
    corpus: str = ""

    @property
    def full_sentences(self) -> tuple[Bounds, ...]:
        """The sentences of the text, long ones as a whole."""
        return long_sentences.merge_parts(self.sentences, self.sentence_splits)


@dataclass(frozen=True, slots=True)
class InstanceLimits:
    """Numbers of pieces: at most ``window`` are encoded at once, ``instance`` are an instance.

    With ``rng`` the limit of each window is drawn between an eighth and the whole, so that training
    sees short and long contexts. With ``isolate_sentences`` each sentence is a window.
    """

    window: int
    instance: int
    rng: Random | None = None
    isolate_sentences: bool = False


def task_token(number: int) -> Prompt:
    """Return the word that stands for a task: one piece that is in no vocabulary and no text."""
    return Prompt(("",), ((0,),), number)


def tokenize(document: Document, split: Split, pieces: SubwordTokenizer) -> TokenizedDocument:
    """Split a text and its queries into words (given ones if there are any) and pieces."""
    checkpoint()
    tokenization = words_of(document, split)
    words = WordBounds.of(tokenization.words)
    checkpoint()
    prompts = tuple(tokenize_prompt(query.prompt, split, pieces) for query in document.queries)
    pair = tuple(_words_inside(span.start, span.end, words) for span in text_pair(document))
    sentences, splits = long_sentences.split_long(document.text, words, tokenization.sentences)
    ids, num_clipped = words_to_pieces(document.text, words, pieces)
    tokens = _tokens(document.text, words)
    corpus = source_corpus(document)
    return TokenizedDocument(
        words, tokens, ids, sentences, prompts, pair, splits, num_clipped, corpus
    )


def _tokens(text: str, words: Sequence[Bounds]) -> tuple[str, ...]:
    """Return the characters of each word; equal words of all documents share one string."""
    return tuple(sys.intern(text[a:b]) for a, b in words)


def tokenize_prompt(text: str, split: Split, pieces: SubwordTokenizer) -> Prompt:
    """Split a text that is not part of a document into words and pieces."""
    words = split(text).words
    return Prompt(tuple(text[a:b] for a, b in words), words_to_pieces(text, words, pieces)[0])


def look_up_prompt(
    text: str, split: Split, pieces: SubwordTokenizer, known: dict[str, Prompt]
) -> Prompt:
    """Look a prompt up in ``known``, and add it if it is new and short.

    A task reads the same labels with each text.
    """
    prompt = known.get(text)
    if prompt is None:
        prompt = tokenize_prompt(text, split, pieces)
        if len(text) <= _KEPT_LENGTH:
            if len(known) >= _KEPT_PROMPTS:
                known.clear()
            known[text] = prompt
    return prompt


def words_to_pieces(
    text: str, words: Sequence[Bounds], pieces: SubwordTokenizer
) -> tuple[tuple[Ids, ...], int]:
    """Return the pieces of a text's words, and the number of words that were clipped."""
    bounds = bounds_array(words)
    clipped = set(np.flatnonzero(bounds[:, 1] - bounds[:, 0] > MAX_WORD_CHARACTERS).tolist())
    if clipped:
        words = [(start, min(end, start + MAX_WORD_CHARACTERS)) for start, end in words]
    ids = tuple(pieces.within(text, words))
    if max(map(len, ids), default=0) > MAX_WORD_PIECES:
        clipped.update(row for row, word_ids in enumerate(ids) if len(word_ids) > MAX_WORD_PIECES)
        ids = tuple(word_ids[:MAX_WORD_PIECES] for word_ids in ids)
    return ids, len(clipped)


def build_instances(
    document: int, tokens: TokenizedDocument, limits: InstanceLimits
) -> Iterator[Instance]:
    """Yield the instances of a document: whole sentences; one over the limits is an instance.

    An instance that is no larger than a window is one window, even if a smaller limit was drawn.
    """
    lengths = [num_pieces(tokens.pieces[a:b]) for a, b in tokens.sentences]
    windows = list(_groups(lengths, 1 if limits.isolate_sentences else limits.window, limits.rng))
    sums = [sum(lengths[first:last]) for first, last in windows]
    single = [(row, row + 1) for row in range(len(windows))]
    for start, stop in pack(sums, limits.instance) if limits.instance > limits.window else single:
        yield build_instance(document, tokens, windows[start:stop], limits)


def build_instance(
    document: int, tokens: TokenizedDocument, windows: Sequence[Bounds], limits: InstanceLimits
) -> Instance:
    """Return an instance; ``windows`` are bounds in the document's sentences, without gaps."""
    first, last = windows[0][0], windows[-1][1]
    a, b = tokens.sentences[first][0], tokens.sentences[last - 1][1]
    sentences = tuple((start - a, end - a) for start, end in tokens.sentences[first:last])
    word_windows = tuple((sentences[i - first][0], sentences[j - first - 1][1]) for i, j in windows)
    instance = Instance(
        document,
        a,
        tokens.words[a:b],
        tokens.tokens[a:b],
        tokens.pieces[a:b],
        sentences,
        word_windows,
        corpus=tokens.corpus,
    )
    if not tokens.sentence_splits:
        return instance
    splits = frozenset(start for start, _ in sentences if a + start in tokens.sentence_splits)
    max_context = limits.window // _CONTEXT_SHARE
    context = tuple(_window_context(tokens, window, max_context) for window in windows)
    return replace(
        instance,
        sentence_splits=splits,
        window_context=context if any(map(any, context)) else (),
    )


def _window_context(
    tokens: TokenizedDocument, window: Bounds, max_pieces: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the pieces before and after a window that belong to the same long sentences."""
    first, last = window
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    if max_pieces and tokens.sentences[first][0] in tokens.sentence_splits:
        before = _flat_pieces(tokens, tokens.sentences[first - 1])[-max_pieces:]
    if last < len(tokens.sentences) and tokens.sentences[last][0] in tokens.sentence_splits:
        after = _flat_pieces(tokens, tokens.sentences[last])[:max_pieces]
    return before, after


def _flat_pieces(tokens: TokenizedDocument, words: Bounds) -> tuple[int, ...]:
    return tuple(flat_pieces(tokens.pieces[words[0] : words[1]]).tolist())


def _groups(lengths: Sequence[int], limit: int, rng: Random | None) -> Iterator[tuple[int, int]]:
    """Yield groups of consecutive sentences of at most ``limit`` pieces, or of a drawn limit."""
    if rng is None:
        yield from pack(lengths, limit)
        return
    first = 0
    while first < len(lengths):
        drawn_limit = rng.randint(max(1, limit // 8), limit)
        # a sentence has a piece at least, so no more than this many can fit
        size = pack(lengths[first : first + drawn_limit], drawn_limit)[0][1]
        yield first, first + size
        first += size


def _words_inside(start: int, end: int, words: Sequence[Bounds]) -> Bounds:
    """Return the bounds, in words, of the words inside some characters."""
    rows = [row for row, (a, b) in enumerate(words) if start <= a and b <= end]
    return (rows[0], rows[-1] + 1) if rows else (0, 0)
