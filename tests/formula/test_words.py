"""Words in formulas: compared with == and !=, and nothing else."""

from __future__ import annotations

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
        ("1 if region == tier else 2", "one of the words 'eu', 'us', 'asia'", "tier"),
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
