"""Find the choices of a task in the words that an encoder reads."""

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise

from spanloom.data.instances import Prompt
from spanloom.data.piece_columns import Ids, Pieces
from spanloom.tokenization import Bounds


def place_choices(
    choices: Sequence[str], wording: str, tokenize_prompt: Callable[[str], Prompt]
) -> tuple[Prompt, tuple[Bounds, ...]]:
    """Return the words of the wording, and the bounds of each choice in them.

    Without a wording the choices are read one after the other. In one, longer choices are looked up
    first, so that "not entailment" is not taken for "entailment"; where a choice is not there as it
    is written, in another case that the encoder reads alike. Raises ``ValueError`` for a choice
    that the wording does not have exactly once.
    """
    prompts = [tokenize_prompt(choice) for choice in choices]
    if not wording:
        ends = accumulate((len(prompt.tokens) for prompt in prompts), initial=0)
        words = tuple(chain.from_iterable(prompt.tokens for prompt in prompts))
        pieces = tuple(chain.from_iterable(prompt.pieces for prompt in prompts))
        return Prompt(words, pieces), tuple(pairwise(ends))
    whole = tokenize_prompt(wording)
    is_free = [True] * len(whole.tokens)
    bounds: dict[int, Bounds] = {}
    for index in sorted(range(len(choices)), key=lambda index: -len(prompts[index].tokens)):
        places = _places(prompts[index], whole, is_free)
        if len(places) != 1:
            problem = f"expected the choice {choices[index]!r} once in {wording!r:.200}"
            raise ValueError(f"{problem}, found it {len(places)} times")
        ((start, end),) = places
        is_free[start:end] = [False] * (end - start)
        bounds[index] = start, end
    return whole, tuple(bounds[index] for index in range(len(choices)))


def check_distinct(choices: Sequence[str], prompts: Sequence[Prompt]) -> None:
    """Raise ``ValueError`` for two choices of the same pieces, and for one without any."""
    seen: dict[Pieces, str] = {}
    for choice, prompt in zip(choices, prompts, strict=True):
        if not prompt.pieces:
            raise ValueError(f"expected a choice with words, got {choice!r:.60}")
        if prompt.pieces in seen:
            problem = f"the encoder reads the choices {seen[prompt.pieces]!r:.60} and"
            raise ValueError(f"{problem} {choice!r:.60} alike; write one of them in other words")
        seen[prompt.pieces] = choice


def _places(choice: Prompt, wording: Prompt, is_free: Sequence[bool]) -> list[Bounds]:
    """Return where a choice stands in free words: as it is written, else in pieces and case."""
    return _occurrences(choice.tokens, wording.tokens, is_free) or _occurrences(
        _caseless(choice), _caseless(wording), is_free
    )


def _caseless(prompt: Prompt) -> tuple[tuple[str, Ids], ...]:
    """Return the words as an encoder reads them: without case, which their pieces keep or not.

    Pieces alone would take all unknown words for one.
    """
    return tuple(
        (token.casefold(), tuple(ids))
        for token, ids in zip(prompt.tokens, prompt.pieces, strict=True)
    )


def _occurrences(
    words: Sequence[object], text: Sequence[object], is_free: Sequence[bool]
) -> list[Bounds]:
    """Return where some words stand in free words of a text."""
    size = len(words)
    return [
        (start, start + size)
        for start in range(len(text) - size + 1)
        if text[start : start + size] == words and all(is_free[start : start + size])
    ]
