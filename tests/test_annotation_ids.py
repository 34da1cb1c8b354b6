"""Ranges of ids and single ids that clash, beside a comparison of all with all."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation_ids import IdRange, find_clash

_ranges = st.builds(IdRange, st.sampled_from(["T", "R", ""]), st.integers(0, 30), st.integers(0, 6))
_ids = st.builds("{}{}".format, st.sampled_from(["T", "R", "", "T0"]), st.integers(0, 40))


def _clashes(ranges: list[IdRange], taken: set[str]) -> set[str]:
    listed = [{ids[i] for i in range(ids.count)} for ids in ranges]
    return {key for a, b in combinations([*listed, taken], 2) for key in a & b}


@given(st.lists(_ranges, max_size=6), st.sets(_ids, max_size=6))
def test_a_clash_is_found_wherever_there_is_one(ranges: list[IdRange], taken: set[str]) -> None:
    clash, expected = find_clash(ranges, taken), _clashes(ranges, taken)
    assert clash in expected if expected else clash is None


@pytest.mark.parametrize("other", ["T05", "T5x", "xT5", "T٥", "5", ""])
def test_only_the_id_itself_clashes(other: str) -> None:
    assert find_clash([IdRange("T", 5, 1)], [other]) is None
    assert find_clash([IdRange("T", 5, 1)], [other, "T5"]) == "T5"
