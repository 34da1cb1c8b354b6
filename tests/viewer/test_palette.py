import colorsys
import itertools
import re
import subprocess
import sys

import pytest

from spanloom.viewer.palette import DARK_INK, LIGHT_INK, SIZE, edge, fill, number, style

NAMES = "person organization place event work product time animal plant object substance"
LAYERS = "srl openie dependency coreference relations main"
PHRASES = "S NP VP PP SBAR ADJP ADVP QP"


def luminance(colour: tuple[int, int, int]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("dark", "ink"), [(False, LIGHT_INK), (True, DARK_INK)])
def test_every_caption_can_be_read(dark, ink):
    # 4.5 is what WCAG 2 asks for text (level AA).
    assert min(contrast(fill(number, dark=dark), ink) for number in range(SIZE)) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_no_two_numbers_have_one_colour_and_neighbours_differ_in_hue(dark):
    fills = [fill(number, dark=dark) for number in range(SIZE)]
    assert len(set(fills)) == SIZE
    hues = [colorsys.rgb_to_hls(*(c / 255 for c in colour))[0] for colour in fills]
    turns = [abs(one - other) for one, other in itertools.pairwise(hues)]
    assert min(min(turn, 1 - turn) for turn in turns) > 0.1


def test_a_number_depends_on_the_name_only():
    command = (
        "from spanloom.viewer.palette import number; print(*map(number, ('Seal', 'é', '\\ud800')))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    ).stdout
    assert elsewhere.split() == [str(number(name)) for name in ("Seal", "é", "\ud800")]
    assert number("Person") == number("person") == number("PER")
    assert {number(f"label {at}") for at in range(1000)} == set(range(SIZE))


@pytest.mark.parametrize("labels", [NAMES, LAYERS, PHRASES])
def test_usual_labels_that_stand_together_have_colours_of_their_own(labels):
    assert len({number(label) for label in labels.split()}) == len(labels.split())


@pytest.mark.parametrize(("dark", "ground"), [(False, (255, 255, 255)), (True, (21, 23, 28))])
def test_every_border_and_arc_can_be_seen(dark, ground):
    # 3 is what WCAG 2 asks for graphics (level AA).
    assert min(contrast(edge(number, dark=dark), ground) for number in range(SIZE)) >= 3


def test_every_number_has_a_class_with_both_schemes():
    rules = re.findall(r"\.c(\d+)\{--f:light-dark\(#\w{6},#\w{6}\);--e:light-dark\(", style())
    assert rules == list(map(str, range(SIZE)))
