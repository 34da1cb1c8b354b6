"""Scales between two bounds: both are on them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.number_scale import NumberScale

LEARNT = NumberScale(0.0, 4.0, 0.25)


@given(st.integers(-500, 500), st.integers(1, 1000), st.sampled_from([1, 10, 100]))
def test_both_bounds_can_be_chosen(low, width, parts):
    low, high = low / parts, (low + width) / parts
    for scale in (NumberScale.between(low, high), LEARNT.rescaled(low, high)):
        assert (scale.value(0), scale.value(len(scale) - 1)) == (low, high)
        assert len(scale) <= 64
        numbers = [scale.value(index) for index in range(len(scale))]
        assert numbers == sorted({*numbers})


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 5, 0.25), (1, 5, 0.2), (0, 100, 5), (1, 7.3, 0.35), (1, 6.9, 0.59), (0, 12.3, 0.82)],
)
def test_steps_are_round_where_a_round_one_divides_the_range(low, high, step):
    assert NumberScale.between(low, high).step == pytest.approx(step)


@pytest.mark.parametrize(
    ("low", "high", "step"), [(1, 5, 0.25), (0, 4, 0.25), (2, 10, 0.25), (0, 50, 2.5)]
)
def test_another_range_has_the_step_that_was_learnt_where_it_fits(low, high, step):
    assert LEARNT.rescaled(low, high).step == pytest.approx(step)


def test_the_range_that_was_learnt_is_read_as_it_was_learnt():
    odd = NumberScale(1.0, 7.3, 0.5)
    assert odd.rescaled(1.0, 7.3) == odd


@pytest.mark.parametrize(
    ("high", "step", "digits"), [(5, 0.25, 4), (1e6, 1e5, 4), (0.001, 5e-5, 7)]
)
def test_numbers_between_those_of_a_scale_have_digits_enough(high, step, digits):
    assert NumberScale(0, high, step).digits == digits
