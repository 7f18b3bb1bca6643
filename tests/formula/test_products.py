"""What is proved of two formulas holds at random points, and nothing is claimed wrongly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepull.formula import Formula
from onepull.formula.products import common_factor, is_multilinear

NAMES = ["tokens", "price", "delay", "words"]
STATE = ["delay", "words"]


def formula(text, **fixed):
    return Formula(text, NAMES).fixed({"price": 1.0, **fixed})


@pytest.mark.parametrize(
    ("new", "old", "factor"),
    [
        ("-delay - price * tokens", "-(delay + 3 * tokens)", 1),
        ("-(delay + tokens * words) - price", "-delay - words * tokens", 1),
        ("(delay <= tokens) - price", "7 + (delay <= tokens)", 1),
        ("delay * (price + 2)", "delay / 2", 6),
        ("-2 * (delay - words)", "words - delay + log(tokens)", 2),
        ("delay - price if tokens > 2 else delay", "delay", 1),
        ("3 * delay if price > 2 else 2 * delay", "delay", 2),
        ("(delay + words) * (delay - words)", "delay * delay - words * words", 1),
        ("tokens", "delay", 0),
        ("delay - delay", "max(delay, words)", 0),
        ("delay / tokens + 1", "delay / tokens", 1),
    ],
)
def test_a_factor_that_is_proved(new, old, factor):
    new, old = formula(new), formula(old)
    assert common_factor(new, old, STATE) == pytest.approx(factor)
    rng = np.random.default_rng(0)
    for tokens in (1.0, 2.5, 9.0):
        states = rng.random((2, 50))
        rest = new.vector(tokens, *states) - factor * old.vector(tokens, *states)
        assert np.ptp(rest) == pytest.approx(0, abs=1e-12)


PARTS = st.recursive(
    st.sampled_from(["tokens", "delay", "words", "delay", "1", "0.5", "3"]),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from("+-*"), part),
        st.builds("{} / (1 + abs({}))".format, part, part),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), part, part),
        st.builds("({} if {} < {} else {})".format, part, part, part, part),
        st.builds("({} <= {})".format, part, part),
    ),
    max_leaves=6,
)
RELATED = ["2 * {0} + {1}", "{0} - tokens * ({1})", "({0} if tokens < 2 else {0} / 4)", "{1}"]


@given(
    old=PARTS, more=PARTS, form=st.sampled_from(RELATED), moving=st.sampled_from([STATE, ["words"]])
)
def test_what_is_proved_of_random_formulas_is_so(old, more, form, moving):
    pair = formula(form.format(f"({old})", more)), formula(old)
    if form == RELATED[0] and more in {"1", "0.5", "3", "tokens"}:
        assert common_factor(*pair, moving) is not None
    rng = np.random.default_rng(0)
    for tokens in (1.0, 2.0, 3.5):
        delay, words = rng.integers(-2, 5, (2, 60)) * rng.choice([1.0, 0.7], (2, 60))
        states = (delay if "delay" in moving else 1.5, words)
        rewards = [np.broadcast_to(each.vector(tokens, *states), 60) for each in pair]
        for one in (0, 1):  # each of the two may be the new one
            factor = common_factor(pair[one], pair[1 - one], moving)
            if factor is not None:
                parts = rewards[one], factor * rewards[1 - one]
                assert np.ptp(parts[0] - parts[1]) <= 1e-9 * (1.0 + np.abs(parts).max())


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("-delay - words", "-delay"),
        ("delay <= 2", "delay <= 3"),
        ("min(delay, 2)", "min(delay, 3)"),
        ("tokens * delay", "delay"),
        ("delay + 2 * words", "delay + words"),
        ("delay ** 2", "delay"),
    ],
)
def test_what_is_not_so_is_not_proved(new, old):
    assert common_factor(formula(new), formula(old), STATE) is None


def test_fields_that_do_not_move_may_do_anything():
    new, old = formula("delay ** 2 - words"), formula("sqrt(delay) - words")
    assert common_factor(new, old, ["words"]) == 1.0
    assert common_factor(new, old, STATE) is None


def test_a_sum_with_too_many_products_stays_as_it_is_written():
    long = " * ".join(["(delay + words + tokens + 1)"] * 9)
    assert common_factor(formula(long), formula(f"{long} - price"), STATE) == 1.0
    assert common_factor(formula(f"{long} * 2"), formula(long), STATE) == 2.0
    assert common_factor(formula(f"({long}) + delay"), formula(long), STATE) is None


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("-(delay + tokens * words)", True),
        ("delay * words * sqrt(tokens)", True),
        ("delay * delay", False),
        ("1 / (1 + delay)", False),
        ("delay if words > 1 else 0", False),
        ("(delay + 1) * (delay + 1) - delay * delay", True),
    ],
)
def test_what_is_linear_in_each_number(text, is_so):
    assert is_multilinear(formula(text), STATE) == is_so
