"""Words in formulas: compared with == and !=, and nothing else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from onepull.errors import FormulaError
from onepull.formula import Formula

WORDS = {"region": ("eu", "us", "asia"), "home": ("eu", "us", "asia"), "tier": ("free", "paid")}
NAMES = [*WORDS, "x"]


def value(text, *values):
    return Formula(text, NAMES, WORDS).scalar(*values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 if region == 'us' else 2", 1.0),
        ('1 if "us" == region else 2', 1.0),
        ("region != 'us'", 0.0),
        ("region == home", 0.0),
        ("region != home and tier == 'paid'", 1.0),
        ("where(region == 'asia' or tier != 'free', x, -x)", 7.0),
        ("(region == 'us') * 3 + (tier == 'free')", 3.0),
    ],
)
def test_words_are_compared(text, expected):
    assert value(text, 1.0, 0.0, 1.0, 7.0) == expected


@pytest.mark.parametrize(
    ("text", "said", "marked"),
    [
        ("region + 1", "words can only be compared with == and !=", "region"),
        ("region", "words can only be compared", "region"),
        ("'us'", "words can only be compared", "'us'"),
        ("min(region, x)", "words can only be compared", "region"),
        ("1 if region < 'us' else 2", "words can only be compared", "region"),
        ("1 if region == 'mars' else 2", "one of the words 'eu', 'us', 'asia'", "'mars'"),
        ("1 if region == 1 else 2", "one of the words 'eu', 'us', 'asia'", "1"),
        ("1 if region == tier else 2", "one of the words 'eu', 'us', 'asia'; 'tier' has", "tier"),
        ("1 if tier == 'piad' else 2", "'free', 'paid'; did you mean 'paid'?", "'piad'"),
        ("1 if region == x else 2", "one of the words 'eu', 'us', 'asia'", "x"),
        ("1 if region < home else 2", "words can only be compared", "region"),
        ("1 if x == 'us' else 2", "words can only be compared", "'us'"),
        ("1 if region else 2", "expected a condition", "region"),
        ("1 if 'us' else 2", "expected a condition", "'us'"),
        ("-region", "words can only be compared", "region"),
        ("region ** 2", "words can only be compared", "region"),
        ("'us'.upper()", "words can only be compared", "'us'"),
        ("f'us' == region", "text with a prefix is not part", "f'us'"),
        ("region == 'us", "not a formula", None),
        ("region == 'u\"s'", "one of the words", "'u\"s'"),
    ],
)
def test_anything_else_is_refused_where_it_is(text, said, marked):
    with pytest.raises(FormulaError) as caught:
        Formula(text, NAMES, WORDS)
    assert said in caught.value.reason
    if marked:
        error = caught.value
        assert error.text[error.start : error.stop] == marked


def test_a_range_follows_from_the_words_that_are_possible():
    formula = Formula("x if region == 'us' else 3", NAMES, WORDS)
    box = {"home": (0, 0), "tier": (0, 0), "x": (5, 9)}
    for region, expected in (((1, 1), [5.0, 9.0]), ((0, 2), [3.0, 9.0])):
        found = formula.enclose({**box, "region": region})
        assert [float(end) for end in found.bounds] == expected


def test_two_fields_are_equal_if_their_words_are():
    lists = [("eu", "us", "asia"), ("asia", "eu"), ("us",), ("mars", "us", "eu"), ("eu", "us")]
    for one, other in itertools.product(lists, lists):
        if not set(one) & set(other):
            continue
        words = {"a": one, "b": other}
        same = Formula("a == b", ["a", "b"], words)
        other_than = Formula("3 if a != b else 4", ["a", "b"], words)
        for (i, word), (j, other_word) in itertools.product(enumerate(one), enumerate(other)):
            expected = word == other_word
            assert same.scalar(i, j) == expected
            assert same.vector(np.array([i]), np.array([j])).tolist() == [expected]
            assert other_than.scalar(i, j) == (4 if expected else 3)
            found = same.enclose({"a": (i, i), "b": (j, j)})
            assert (float(found.low), float(found.high)) == (expected, expected)
        everywhere = same.enclose({"a": (0, len(one) - 1), "b": (0, len(other) - 1)})
        assert float(everywhere.high) == 1.0


def test_long_lists_in_different_orders_are_refused_with_a_remedy():
    many = [f"w{i}" for i in range(100)]
    names = ["a", "b"]
    assert Formula("a == b", names, {"a": many, "b": many[:90]}).scalar(3, 3) == 1.0
    with pytest.raises(FormulaError, match="both must list their words in the same order"):
        Formula("a == b", names, {"a": many, "b": many[::-1]})
