"""Documents cut into units: what a task reads at once, with the way back to characters."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from random import Random

from spanloom import long_sentences
from spanloom.annotation.text_pairs import text_pair
from spanloom.cancellation import checkpoint
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.windows import pack
from spanloom.document import Document
from spanloom.tokenization import Bounds, Tokenization, words_of

Ids = tuple[tuple[int, ...], ...]  # the pieces of some words
MAX_WORD_CHARACTERS = 2_000  # characters of a word that a tokenizer reads
MAX_WORD_PIECES = 512  # of a word that an encoder reads
_SHARE = 4  # of a window, what is read beside it at either end


@dataclass(frozen=True, slots=True)
class Prompt:
    """Words that are read before a text and stand in no document: a question, a task's token.

    ``token`` is the number of the task whose token the first word is: it has no form, and its piece
    is never looked up.
    """

    tokens: tuple[str, ...] = ()
    pieces: Ids = ()
    task_number: int | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """Some whole sentences of one document, and what is read with them.

    ``words`` are character bounds in the document; ``sentences`` and ``contexts`` (sentences that
    an encoder reads at once) bounds in this unit's words; ``first`` is the index of its first word
    among the document's words. Words beyond ``words`` (``choices``: their bounds) stand in no
    document. ``opening`` asks for a vector of what opens the unit. ``query`` is the row of the
    document's query that ``prompt`` puts. Of a long sentence in parts ``inner`` has the words that
    begin all but the first, and ``beside`` the pieces before and after each context that are read
    with it, since its sentence goes on there; none where no sentence does. ``first_sentence`` is
    the index of its first word's sentence among the document's ``full_sentences``.
    """

    document: int
    first_word: int
    words: tuple[Bounds, ...]
    tokens: tuple[str, ...]
    pieces: Ids
    sentences: tuple[Bounds, ...]
    windows: tuple[Bounds, ...]
    prompt: Prompt = Prompt()
    wants_cls: bool = False
    query: int = 0
    choices: tuple[Bounds, ...] = ()
    sentence_splits: frozenset[int] = frozenset()
    window_context: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    first_sentence: int = 0
    num_pieces: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Count its pieces once, special pieces apart."""
        ahead = sum(map(len, self.prompt.pieces))
        object.__setattr__(self, "num_pieces", ahead + sum(map(len, self.pieces)))


@dataclass(frozen=True, slots=True)
class TokenizedDocument:
    """A document's words, their forms and pieces, and its sentences as bounds in words.

    A long sentence stands as several, and ``inner`` has the words at which all but the first of
    these begin. ``queries`` are its prompts, ``parts`` the bounds of its two parts in words, if it
    has any. Of ``clipped`` words the first characters or pieces alone are read.
    """

    words: tuple[Bounds, ...]
    tokens: tuple[str, ...]
    pieces: Ids
    sentences: tuple[Bounds, ...]
    queries: tuple[Prompt, ...] = ()
    text_pair: tuple[Bounds, ...] = ()
    sentence_splits: frozenset[int] = frozenset()
    num_clipped_words: int = 0

    @property
    def full_sentences(self) -> tuple[Bounds, ...]:
        """The sentences of the text, long ones too."""
        return long_sentences.merge_parts(self.sentences, self.sentence_splits)

    def sentence_at(self, word: int) -> int:
        """Return the index among ``full_sentences`` of the sentence of a word; 0 without any."""
        sentence = bisect_right(self.sentences, word, key=itemgetter(0)) - 1
        return max(0, sentence - sum(split <= word for split in self.sentence_splits))


@dataclass(frozen=True, slots=True)
class InstanceLimits:
    """Pieces: ``window`` go through an encoder at once, ``unit`` make a unit (at most).

    With ``draw`` each window's limit is drawn anew between an eighth and the whole, so that
    training sees short and long contexts. With ``apart`` each sentence is a window by itself.
    """

    window: int
    instance: int
    rng: Random | None = None
    isolate_sentences: bool = False


def task_token(number: int) -> Prompt:
    """Return the word that stands for a task: one piece, in no vocabulary and in no text."""
    return Prompt(("",), ((0,),), number)


def tokenize(
    document: Document, split: Callable[[str], Tokenization], pieces: SubwordTokenizer
) -> TokenizedDocument:
    """Cut a text and its queries into words, given ones if there are any, sentences and pieces."""
    checkpoint()
    found = words_of(document, split)
    checkpoint()
    forms = tuple(document.text[a:b] for a, b in found.words)
    prompts = tuple(tokenize_prompt(query.prompt, split, pieces) for query in document.queries)
    halves = tuple(_inside(span.start, span.end, found.words) for span in text_pair(document))
    sentences, inner = long_sentences.split_long(document.text, found.words, found.sentences)
    ids, clipped = _pieces(document.text, found.words, pieces)
    return TokenizedDocument(found.words, forms, ids, sentences, prompts, halves, inner, clipped)


def tokenize_prompt(
    text: str, split: Callable[[str], Tokenization], pieces: SubwordTokenizer
) -> Prompt:
    """Split a text that stands in no document into words and pieces."""
    words = split(text).words
    return Prompt(tuple(text[a:b] for a, b in words), _pieces(text, words, pieces)[0])


def _pieces(text: str, words: Sequence[Bounds], pieces: SubwordTokenizer) -> tuple[Ids, int]:
    """The pieces of a text's words, and how many of these have more than are read."""
    long = {row for row, (start, end) in enumerate(words) if end - start > MAX_WORD_CHARACTERS}
    if long:
        words = [(start, min(end, start + MAX_WORD_CHARACTERS)) for start, end in words]
    found = tuple(pieces.within(text, words))
    if max(map(len, found), default=0) > MAX_WORD_PIECES:
        long.update(row for row, ids in enumerate(found) if len(ids) > MAX_WORD_PIECES)
        found = tuple(ids[:MAX_WORD_PIECES] for ids in found)
    return found, len(long)


def build_instances(
    document: int, cut: TokenizedDocument, sizes: InstanceLimits
) -> Iterator[Instance]:
    """Cut a document into units of whole sentences; a sentence over the limits stands alone.

    A unit that is no larger than a window is one window, however small that was drawn.
    """
    lengths = [sum(map(len, cut.pieces[a:b])) for a, b in cut.sentences]
    windows = list(_groups(lengths, 1 if sizes.isolate_sentences else sizes.window, sizes.rng))
    sums = [sum(lengths[first:last]) for first, last in windows]
    one = [(row, row + 1) for row in range(len(windows))]
    for start, stop in pack(sums, sizes.instance) if sizes.instance > sizes.window else one:
        yield build_instance(document, cut, windows[start:stop], sizes)


def build_instance(
    document: int, cut: TokenizedDocument, windows: Sequence[Bounds], sizes: InstanceLimits
) -> Instance:
    """Make a unit of a document; ``windows`` are bounds in its sentences, without gaps."""
    first, last = windows[0][0], windows[-1][1]
    a, b = cut.sentences[first][0], cut.sentences[last - 1][1]
    inside = tuple((start - a, end - a) for start, end in cut.sentences[first:last])
    contexts = tuple((inside[i - first][0], inside[j - first - 1][1]) for i, j in windows)
    made = Instance(
        document,
        a,
        cut.words[a:b],
        cut.tokens[a:b],
        cut.pieces[a:b],
        inside,
        contexts,
        first_sentence=cut.sentence_at(a),
    )
    if not cut.sentence_splits:
        return made
    inner = frozenset(start for start, _ in inside if a + start in cut.sentence_splits)
    beside = tuple(_window_context(cut, window, sizes.window // _SHARE) for window in windows)
    return replace(
        made, sentence_splits=inner, window_context=beside if any(map(any, beside)) else ()
    )


def _window_context(
    cut: TokenizedDocument, window: Bounds, most: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Up to so many pieces before and after some sentences, of the parts where these go on."""
    first, last = window
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    if most and cut.sentences[first][0] in cut.sentence_splits:
        before = _joined(cut, cut.sentences[first - 1])[-most:]
    if last < len(cut.sentences) and cut.sentences[last][0] in cut.sentence_splits:
        after = _joined(cut, cut.sentences[last])[:most]
    return before, after


def _joined(cut: TokenizedDocument, part: Bounds) -> tuple[int, ...]:
    return tuple(chain.from_iterable(cut.pieces[part[0] : part[1]]))


def _groups(lengths: Sequence[int], limit: int, draw: Random | None) -> Iterator[tuple[int, int]]:
    if draw is None:
        yield from pack(lengths, limit)
        return
    first = 0
    while first < len(lengths):
        drawn = draw.randint(max(1, limit // 8), limit)
        # a sentence has a piece at least, so no more than this many can fit
        size = pack(lengths[first : first + drawn], drawn)[0][1]
        yield first, first + size
        first += size


def _inside(start: int, end: int, words: Sequence[Bounds]) -> Bounds:
    """Bounds, in words, of those that lie inside some characters."""
    rows = [row for row, (a, b) in enumerate(words) if start <= a and b <= end]
    return (rows[0], rows[-1] + 1) if rows else (0, 0)
