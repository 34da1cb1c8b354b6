"""What tasks read, and the batches instances of it: against plain loops over words and pieces."""

from itertools import count
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tiny_tokenizers import letters

from spanloom.annotation.text_pairs import join_texts
from spanloom.data.collate import collate
from spanloom.data.instance_readers import (
    ChoiceReader,
    InstanceReader,
    QuestionReader,
    SegmentReader,
    SentenceReader,
    TextReader,
)
from spanloom.data.instances import Instance, InstanceLimits, Prompt, tokenize, tokenize_prompt
from spanloom.data.windows import pack
from spanloom.document import Document, Query
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
LETTERS = letters()
OPEN, CLOSE = LETTERS.prefix[0], LETTERS.suffix[0]
TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "the", "abc", "\x01"]), max_size=8).map(" ".join), max_size=8
).map("\n".join)
SIZES = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), max_size=4)
DRAWN = st.lists(
    st.tuples(SIZES, st.lists(st.integers(1, 3), max_size=4), st.booleans()), min_size=1, max_size=4
)


def cutter(text):
    return tokenize_prompt(text, SPLIT, LETTERS)


def unit(row, drawn, limit, fresh):
    """A unit whose every piece is another; ``drawn`` are pieces a word of sentences and prompt."""
    sentences, asked, opening = drawn
    sizes = [size for sentence in sentences for size in sentence]
    ends = [0]
    for sentence in sentences:
        ends.append(ends[-1] + len(sentence))
    bounds = list(zip(ends, ends[1:], strict=False))
    ahead = Prompt(tuple(f"p{size}" for size in asked), _ids(asked, fresh))
    windows = pack([sum(sentence) for sentence in sentences], limit)
    contexts = tuple((bounds[a][0], bounds[b - 1][1]) for a, b in windows)
    forms = tuple(f"w{place}" for place in range(len(sizes)))
    words = tuple((2 * place, 2 * place + 1) for place in range(len(sizes)))
    pieces = _ids(sizes, fresh)
    return Instance(row, 0, words, forms, pieces, tuple(bounds), contexts, ahead, opening)


def _ids(sizes, fresh):
    return tuple(tuple(next(fresh) for _ in range(size)) for size in sizes)


def windows_of(batch):
    """The pieces of each window, padding left out."""
    every = zip(batch.input_ids.tolist(), batch.attention_mask.tolist(), strict=True)
    return [[piece for piece, real in zip(*window, strict=True) if real] for window in every]


def owned(batch, word):
    """The places of a word's pieces: rows of windows, and in them."""
    rows = batch.piece_index[batch.piece_to_word == word].tolist()
    return [divmod(row, batch.input_ids.shape[1]) for row in rows]


@settings(max_examples=50)
@given(drawn=DRAWN, limit=st.integers(1, 20))
def test_every_word_read_owns_its_own_pieces_in_the_windows_of_its_unit(drawn, limit):
    fresh = count(100)
    instances = [unit(row, item, limit, fresh) for row, item in enumerate(drawn)]
    batch = collate(instances, LETTERS, limit)
    windows, word = windows_of(batch), 0
    assert batch.piece_to_word.tolist() == sorted(batch.piece_to_word.tolist())
    first = 0
    for instance in instances:
        asked = [piece for ids in instance.prompt.pieces for piece in ids]
        head = [OPEN, *asked, CLOSE] if asked else [OPEN]
        mine = _taken(windows[first:], head, instance)
        rows = range(first, first + mine)
        if instance.wants_cls:
            assert owned(batch, word) == [(row, 0) for row in rows]
            word += 1
        for place, ids in enumerate(instance.prompt.pieces):
            before = 1 + sum(map(len, instance.prompt.pieces[:place]))
            expected = [(row, before + i) for row in rows for i in range(len(ids))]
            assert owned(batch, word) == expected
            assert [windows[row][at] for row, at in expected] == list(ids) * mine
            word += 1
        for ids in instance.pieces:
            places = owned(batch, word)
            assert [windows[row][at] for row, at in places] == list(ids)
            assert all(row in rows and at >= len(head) for row, at in places)
            word += 1
        first += mine
    assert first == len(windows)
    assert word == len(batch.words)


def _taken(windows, head, instance):
    """How many windows, from the first, are the unit's; each holds a stretch of one context."""
    texts = [
        [piece for ids in instance.pieces[a:b] for piece in ids] for a, b in instance.windows
    ] or [[]]
    taken = 0
    for text in texts:
        seen = set()
        while seen != set(text) or not taken:
            window = windows[taken]
            assert window[: len(head)] == head
            assert window[-1] == CLOSE
            inner = window[len(head) : -1]
            at = text.index(inner[0]) if inner else 0
            assert inner == text[at : at + len(inner)]
            seen |= set(inner)
            taken += 1
    return taken


@settings(max_examples=50)
@given(drawn=DRAWN, limit=st.integers(1, 20))
def test_what_is_no_text_is_told_apart(drawn, limit):
    fresh = count(100)
    instances = [unit(row, item, limit, fresh) for row, item in enumerate(drawn)]
    batch = collate(instances, LETTERS, limit)
    forms = [form for instance in instances for form in instance.tokens]
    bounds = (
        [batch.words]
        if batch.prompt_layout is None
        else [batch.words, *batch.prompt_layout.level_runs]
    )
    if batch.prompt_layout is None:
        assert not any(instance.wants_cls or instance.prompt.tokens for instance in instances)
        assert list(batch.words) == forms
    else:
        assert [batch.words[row] for row in batch.prompt_layout.text_rows.tolist()] == forms
        opened = all(instance.wants_cls for instance in instances)
        assert (batch.prompt_layout.cls_rows is not None) == opened
        starts = [0]
        for instance in instances:
            starts.append(
                starts[-1] + instance.wants_cls + len(instance.prompt.tokens) + len(instance.tokens)
            )
        if opened:
            assert batch.prompt_layout.cls_rows.tolist() == starts[:-1]
        for runs, name in zip(bounds[1:], ("sentences", "windows"), strict=True):
            assert runs.tolist() == _runs(instances, starts, name)
    ahead = any(instance.prompt.tokens for instance in instances)
    assert (batch.token_type_ids is not None) == ahead
    assert batch.instances.tolist() == _laid(
        [[(0, len(instance.tokens))] for instance in instances], instances
    )
    assert batch.sentences.tolist() == _laid(
        [instance.sentences for instance in instances], instances
    )
    assert batch.windows.tolist() == _laid([instance.windows for instance in instances], instances)


def _laid(bounds, instances):
    found, base = [], 0
    for inner, instance in zip(bounds, instances, strict=True):
        found += [[base + a, base + b] for a, b in inner]
        base += len(instance.tokens)
    return found


def _runs(instances, starts, name):
    """Runs of words read: the first of each unit begins where the unit does."""
    found = []
    for instance, start in zip(instances, starts, strict=False):
        extra = instance.wants_cls + len(instance.prompt.tokens)
        inner = getattr(instance, name) or ((0, 0),)
        mine = [[start + extra + a, start + extra + b] for a, b in inner]
        mine[0][0] = start
        found += mine
    return found


@settings(max_examples=50)
@given(drawn=DRAWN, limit=st.integers(1, 20))
def test_segments_are_one_behind_a_prompt(drawn, limit):
    fresh = count(100)
    instances = [unit(row, item, limit, fresh) for row, item in enumerate(drawn)]
    assume(any(instance.prompt.tokens for instance in instances))
    batch = collate(instances, LETTERS, limit)
    prompts = {piece for instance in instances for ids in instance.prompt.pieces for piece in ids}
    for window, segments in zip(windows_of(batch), batch.token_type_ids.tolist(), strict=True):
        last = max((at for at, piece in enumerate(window) if piece in prompts), default=None)
        behind = len(window) if last is None else last + 2  # the special piece between is asked
        expected = [int(at >= behind) for at in range(len(window))]
        assert segments[: len(window)] == expected


def _units(shape, document, limit, *, token=None, pages=1):
    whole = tokenize(document, SPLIT, LETTERS)
    reading = InstanceReader(shape, token, pages)
    return whole, list(reading.instances(7, whole, InstanceLimits(limit, limit * pages), cutter))


def _fits(instances, limit):
    """Each context is one window, which is no longer than the limit."""
    batch = collate(instances, LETTERS, limit)
    long = any(len(ids) > limit + 2 for ids in windows_of(batch))
    return not long and len(batch.input_ids) == sum(
        max(1, len(instance.windows)) for instance in instances
    )


@settings(max_examples=40)
@given(text=TEXTS, limit=st.integers(30, 60))
def test_a_whole_document_is_one_unit_with_an_opening(text, limit):
    whole, (instances,) = _units(TextReader(), Document(text), limit)
    assert (instances.tokens, instances.words, instances.sentences) == (
        whole.tokens,
        whole.words,
        whole.sentences,
    )
    assert (instances.wants_cls, instances.prompt, instances.first_word, instances.document) == (
        True,
        Prompt(),
        0,
        7,
    )
    assert _fits([instances], limit)


@pytest.mark.parametrize(("first", "second"), [("a b", ""), ("", "a b")])
def test_of_joined_texts_one_may_be_empty(first, second):
    reader = ChoiceReader(("yes", "no"), join_texts=True)
    _, (instances,) = _units(reader, join_texts("two", first, second), 60)
    assert instances.prompt.tokens == ("a", "b")


@settings(max_examples=40)
@given(first=TEXTS, second=TEXTS, limit=st.integers(60, 90))
def test_of_two_parts_the_first_is_the_prompt(first, second, limit):
    document = join_texts("two", first, second)
    whole, (instances,) = _units(TextReader(), document, limit)
    assert instances.prompt.tokens == tuple(first.split())[: len(instances.prompt.tokens)]
    (a, b), (c, d) = whole.text_pair
    room = max(limit // 2, limit - sum(map(len, whole.pieces[c:d])) - 1)  # with a separator
    prompt = whole.pieces[a:b]
    fits = [n for n in range(len(prompt) + 1) if sum(map(len, prompt[:n])) <= room]
    assert instances.prompt.pieces == prompt[: fits[-1]]
    assert instances.tokens == tuple(second.split())
    assert tuple(document.text[a:b] for a, b in instances.words) == instances.tokens
    assert (
        instances.words
        == whole.words[instances.first_word : instances.first_word + len(instances.words)]
    )
    assert _covered(instances)
    assert _fits([instances], limit)


def _covered(instances):
    """Sentences and contexts cover a unit's words, one after another."""
    return all(
        [place for a, b in bounds for place in range(a, b)] == list(range(len(instances.tokens)))
        for bounds in (instances.sentences, instances.windows)
    )


@settings(max_examples=40)
@given(text=TEXTS, asked=st.lists(TEXTS, max_size=3), limit=st.integers(60, 90))
def test_each_query_is_asked_of_the_whole_document(text, asked, limit):
    queries = tuple(Query(f"Q{row}", prompt.strip() or "?") for row, prompt in enumerate(asked))
    whole, instances = _units(QuestionReader(), Document(text, queries=queries), limit)
    assert [instance.query for instance in instances] == list(range(len(asked)))
    for instance, query in zip(instances, queries, strict=True):
        forms = tuple(query.prompt[a:b] for a, b in SPLIT(query.prompt).words)
        assert instance.prompt.tokens == forms[: len(instance.prompt.tokens)]
        cost = sum(map(len, cutter(query.prompt).pieces))
        assert instance.prompt.tokens == forms or cost > limit // 2
        assert (instance.tokens, instance.sentences) == (whole.tokens, whole.sentences)
        assert instance.wants_cls
        assert _covered(instance)
        assert _fits([instance], limit)


CHOICES = ("yes", "no way", "may be so")


@settings(max_examples=40)
@given(text=TEXTS, limit=st.integers(8, 60))
def test_choices_are_the_text_and_the_document_is_the_prompt(text, limit):
    whole, instances = _units(ChoiceReader(CHOICES), Document(text), limit)
    assert sum((instance.prompt.tokens for instance in instances), ()) == whole.tokens
    for instance in instances:
        said = [" ".join(instance.tokens[a:b]) for a, b in instance.choices]
        assert said == list(CHOICES)
        assert (instance.words, instance.wants_cls) == ((), True)
        assert _covered(instance)
    if limit >= 40:
        assert _fits(instances, limit)


@settings(max_examples=40)
@given(first=TEXTS, second=TEXTS, limit=st.integers(8, 60))
def test_the_first_part_stands_before_the_choices(first, second, limit):
    reader = ChoiceReader(CHOICES)
    whole, instances = _units(reader, join_texts("two", first, second), limit)
    (a, b), (c, d) = whole.text_pair
    is_cut = reader.count_shortened(whole, limit, cutter) == 1
    assert sum((instance.prompt.tokens for instance in instances), ()) == whole.tokens[c:d]
    for instance in instances:
        size = len(instance.words)
        assert instance.words == whole.words[a : a + size]
        assert instance.tokens[:size] == whole.tokens[a : a + size]
        assert (size < b - a) is is_cut
        assert [" ".join(instance.tokens[a:b]) for a, b in instance.choices] == list(CHOICES)
    if limit >= 40:
        assert _fits(instances, limit)  # every word of the first text meets all choices


@pytest.mark.parametrize("shape", [TextReader(), QuestionReader(), ChoiceReader(("yes", "no"))])
def test_no_window_is_longer_than_an_encoder_can_read_whatever_is_asked(shape):
    long = "abc" * 100
    document = Document(f"{long} a\n{long}", queries=(Query("Q1", f"a {long}"),))
    for text in (document, join_texts("two", long, f"a {long}")):
        _, instances = _units(shape, text, 16)
        if instances:
            assert collate(instances, LETTERS, 16).input_ids.shape[1] <= 18


SHAPES = [SentenceReader(), TextReader(), QuestionReader(), ChoiceReader(("yes", "no"))]
AFTER = [QuestionReader(source_first=True), ChoiceReader(("yes", "no"), source_first=True)]


@pytest.mark.parametrize("token", [None, 3])
@pytest.mark.parametrize("shape", [*SHAPES, *AFTER], ids=str)
def test_the_words_of_documents_are_told_from_questions_choices_and_tokens(shape, token):
    """These are what word dropout hides."""
    plain = Document("a the\nabc", queries=(Query("Q1", "a cat"), Query("Q2", "the")))
    for document in (plain, join_texts("two", "a the", "abc a")):
        whole, instances = _units(shape, document, 40, token=token)
        if not instances:
            continue
        batch = collate(instances, LETTERS, 40)
        rows = range(len(batch.words))
        if batch.prompt_layout is not None:
            rows = batch.prompt_layout.document_rows.tolist()
        times = len(instances) if isinstance(shape, QuestionReader) else 1
        assert sorted(batch.words[row] for row in rows) == sorted(whole.tokens * times)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_token_stands_before_each_sentence_and_takes_nothing_away(shape):
    text = "the cat\na b c\nabc"
    document = Document(text, queries=(Query("Q1", "a cat"), Query("Q2", "the")))
    _, plain = _units(shape, document, 40)
    whole, instances = _units(shape, document, 40, token=3)
    assert all(instance.prompt.tokens[0] == "" for instance in instances)
    assert all(len(instance.prompt.pieces[0]) == 1 for instance in instances)
    assert all(instance.prompt.task_number == 3 for instance in instances)
    assert _joined_up(instances, 1) == _joined_up(plain, 0)
    if not isinstance(shape, ChoiceReader):
        alone = [
            (instance.first_word + a, instance.first_word + b)
            for instance in instances
            for a, b in instance.windows
        ]
        assert alone == list(whole.sentences) * (2 if isinstance(shape, QuestionReader) else 1)
    assert _fits(instances, 40)


def _joined_up(instances, skipped):
    """What is read of each query: prompts and texts, however they are cut into units."""
    found = {}
    for instance in instances:
        asked = instance.prompt.tokens[skipped:]
        found.setdefault((instance.query, asked), []).extend(instance.tokens)
    return found


def test_readings_of_one_key_are_read_in_one_pass():
    keys = {
        InstanceReader(shape, token, pages).key
        for shape in SHAPES
        for token in "ab"
        for pages in (1, 2)
    }
    assert len(keys) == 2 * len(SHAPES)
    assert InstanceReader(ChoiceReader(("a",))).key != InstanceReader(ChoiceReader(("b",))).key
    assert InstanceReader(ChoiceReader(("a",))).key == InstanceReader(ChoiceReader(("a",))).key


@pytest.mark.parametrize("seed", [None, 1])
def test_segments_are_as_full_as_sentences_allow_in_training_as_in_use(seed):
    """What windows of random sizes are in training, segments are not."""
    tokens = tokenize(Document("\n".join(["a the abc"] * 40)), SPLIT, LETTERS)
    size = sum(map(len, tokens.pieces)) // 40
    rng = None if seed is None else Random(seed)
    limits = InstanceLimits(12 * size, 4 * 12 * size, rng)
    instances = list(SegmentReader(3 * size).instances(0, tokens, limits, cutter))
    windows = [b - a for instance in instances for a, b in instance.windows]
    assert windows == [9] * 13 + [3]
    most = 12 if seed is not None else 48
    assert [len(instance.sentences) for instance in instances] == (
        [12, 12, 12, 4] if most == 12 else [40]
    )
    (wide,) = SegmentReader(999 * size).instances(0, tokens, limits, cutter)
    assert len(wide.windows) == 4  # at most the encoder's own


@pytest.mark.parametrize("seed", [None, 1])
def test_after_a_task_token_each_sentence_in_segments_is_an_instance(seed):
    """Several short sentences would fit into the window, but each is read by itself."""
    tokens = tokenize(Document("\n".join(["a the abc"] * 5)), SPLIT, LETTERS)
    reader = InstanceReader(SegmentReader(12), task_number=2)
    limits = InstanceLimits(60, 60, None if seed is None else Random(seed))
    instances = list(reader.instances(0, tokens, limits, cutter))
    assert [len(instance.sentences) for instance in instances] == [1] * 5
