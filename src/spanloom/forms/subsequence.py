"""A sequence in a longer one: words in the text they came from, kept words in their sentence."""

from collections.abc import Sequence

from spanloom.document import Fragment

_MOST = 250_000  # pairs of words that are compared for the best answer


def found_in(text: str, words: Sequence[str]) -> list[Fragment] | None:
    """Return where words stand in a text, one after the other; None where one does not.

    Between them, before and behind there may be anything but letters and digits, so no word of the
    text is passed over.
    """
    found: list[Fragment] = []
    end = 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or any(map(str.isalnum, text[end:start])):
            return None
        end = start + len(word)
        found.append((start, end))
    return None if any(map(str.isalnum, text[end:])) else found


def runs(words: Sequence[str], kept: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return runs ``[start, end)`` of words that are, one after the other, the kept ones.

    They are as few as they can be, and of several such answers the first words that fit; of over
    500 words out of 500 simply the first words that fit. None where the kept words are no
    subsequence. O(words · kept).
    """
    first = earliest(words, kept)
    if len(first) < len(kept):
        return None
    places = first if len(words) * len(kept) > _MOST else _fewest(words, kept)
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1] = found[-1][0], place + 1
        else:
            found.append((place, place + 1))
    return found


def earliest(words: Sequence[str], kept: Sequence[str]) -> list[int]:
    """Return the first place of each kept word behind the one before, up to one that has none."""
    found: list[int] = []
    for place, word in enumerate(words):
        if len(found) < len(kept) and word == kept[len(found)]:
            found.append(place)
    return found


def _fewest(words: Sequence[str], kept: Sequence[str]) -> list[int]:
    """Return places of the kept words in as few runs as possible, early rather than late.

    ``apart[i][j]`` is how many runs the words from i on need for the kept ones from j on if word
    i - 1 is not kept, ``going[i][j]`` the same if it is.
    """
    never = len(words) + 1
    apart = [[never] * len(kept) + [0]]
    going = [[never] * len(kept) + [0]]
    for word in reversed(words):
        left, begun = apart[-1], going[-1]
        row, on = left[:], left[:]
        for j, wanted in enumerate(kept):
            if word == wanted:
                row[j] = min(left[j], 1 + begun[j + 1])
                on[j] = min(left[j], begun[j + 1])
        apart.append(row)
        going.append(on)
    apart.reverse()
    going.reverse()
    places: list[int] = []
    for i, word in enumerate(words):
        j = len(places)
        if j == len(kept):
            break
        runs_on = bool(places) and places[-1] == i - 1
        here = (going if runs_on else apart)[i][j]
        if word == kept[j] and here == (0 if runs_on else 1) + going[i + 1][j + 1]:
            places.append(i)
    return places
