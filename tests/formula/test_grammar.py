"""What the formula language accepts, and the errors for everything else."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onepull.errors import FormulaError
from onepull.formula import Formula
from onepull.formula.grammar import DEPTH, LENGTH, SIZE

NAMES = ["x", "y"]

REFUSED = [
    # text, and the part that the error points at
    ("x.real + 1", "x.real"),
    ("1 + (x).__class__", "(x).__class__"),
    ("1 + foo(x)", "foo"),
    ("x + __import__('os')", "__import__"),
    ("min(x, y).real(1)", "min(x, y).real"),
    ("x(1)", "x"),
    ("x + 'text'", "'text'"),
    ("x + b'text'", "b'text'"),
    ("x + f'{y}'", "f'{y}'"),
    ("min(x, lambda: 1)", "lambda: 1"),
    ("1 + [x for x in y]", "[x for x in y]"),
    ("max(x, {x: 1 for x in y})", "{x: 1 for x in y}"),
    ("max(1, (x for x in y))", "(x for x in y)"),
    ("1 + (z := 2)", "z := 2"),
    ("x[0]", "x[0]"),
    ("(x, y)", "(x, y)"),
    ("[x]", "[x]"),
    ("{x}", "{x}"),
    ("1 + (await x)", "await x"),
    ("1 + (yield)", "yield"),
    ("min(x, key=y)", "key=y"),
    ("min(x, *y)", "*y"),
    ("min(**x)", "**x"),
    ("x + True", "True"),
    ("x + None", "None"),
    ("x + ...", "..."),
    ("x * 2j", "2j"),
    ("x + 1e999", "1e999"),
    ("x * " + "9" * 400, "9" * 400),
    ("x + 0x" + "f" * 300, "0x" + "f" * 300),
    ("x + z", "z"),
    ("x + min", "min"),
    ("x @ y", "x @ y"),
    ("x | y", "x | y"),
    ("x << 2", "x << 2"),
    ("1 + ~x", "~x"),
    ("1 + (x is y)", "x is y"),
    ("1 + (x in y)", "x in y"),
    ("1 if x else 2", "x"),
    ("not x", "x"),
    ("x > 1 and y", "y"),
    ("where(x, 1, 2)", "x"),
    ("x ** 101", "101"),
    ("x ** -1e3", "-1e3"),
    ("2 ** (-(-200))", "-(-200)"),
    ("1 + min(x)", "min(x)"),
    ("exp(x, y)", "exp(x, y)"),
    ("clip(x, 1)", "clip(x, 1)"),
    ("where(x > 1, 2)", "where(x > 1, 2)"),
    ("x + é", "é"),
    ("x × y", "×"),
    ("ｘ", "ｘ"),
    ("x +\0 y", "\0"),
    ("x\x7f", "\x7f"),
    ("x # + y", "#"),
]


@pytest.mark.parametrize(("text", "part"), REFUSED)
def test_refusal_points_at_the_part(text, part):
    with pytest.raises(FormulaError) as caught:
        Formula(text, NAMES)
    error = caught.value
    assert error.text[error.start : error.stop] == part
    assert "^" * min(len(part), 10) in str(error)


@pytest.mark.parametrize("text", ["", " \n\t", "x +", "(x", "x)", "1 2", "x = 1", "x; y", "if x"])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(FormulaError) as caught:
        Formula(text, NAMES)
    assert 0 <= caught.value.start < caught.value.stop


@pytest.mark.parametrize("given_", [None, 3, b"x", ["x"]])
def test_what_is_no_text_is_refused(given_):
    with pytest.raises(FormulaError, match="a formula must be text"):
        Formula(given_, NAMES)


def nested(template: str, times: int) -> str:
    text = "x"
    for _ in range(times):
        text = template.format(text)
    return text


HOSTILE = {
    "too long": "x+" * LENGTH + "x",
    "deep sum": "+".join(["x"] * (DEPTH + 3)),
    "deep parentheses": "(" * 1900 + "x" + ")" * 1900,
    "deep signs": "-" * (LENGTH - 1) + "x",
    "deep not": "not " * 900 + "x",
    "deep power": "x**" * 1000 + "x",
    "deep calls": nested("exp({})", DEPTH + 1),
    "many parts": f"min({','.join(['x'] * (SIZE + 1))})",
    "doubling chain": nested("x<({})<x", 55),
    "power tower": "9**9**9**9",
    "powers of powers": nested("({})**100", 50),
    "open brackets": "[" * (LENGTH - 1),
    "huge shift": "1 << 9**9",
    "huge text": "'a' * 9**9",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_quickly(text):
    start = time.perf_counter()
    with pytest.raises(FormulaError):
        Formula(text, NAMES).enclose({"x": (2.0, 3.0), "y": (2.0, 3.0)})
    assert time.perf_counter() - start < 1.0


AT_THE_LIMIT = {
    "floor": nested("floor({})", DEPTH),
    "clip": nested("clip({},0,y)", DEPTH),
    "quotient": nested("({})//y", DEPTH),
    "power": nested("({})**1", DEPTH),
    "comparison": nested("x<({})", DEPTH),
    "remainder of truth": nested("(y<({}))%2", DEPTH // 2),
    "choice": nested("(x if x<y else {})", DEPTH - 1),
    "choice in a condition": nested("(1 if x<{} else 2)", DEPTH // 2),
    "choice in conditions": nested("(1 if x<1 and {}>x or y>3 else 2)", DEPTH // 4 - 1),
    "wide min": f"min({','.join(['x'] * (SIZE - 1))})",
    "wide max of sums": f"max({','.join(['x+y'] * 300)})",
    "wide and": " and ".join(["x<1"] * 249),
    "wide or": " or ".join(["x<1"] * 249),
    "long chain": "<".join(["x"] * 330),
    "doubling chain": nested("x<({})<x", 6),
}


@pytest.mark.parametrize("text", AT_THE_LIMIT.values(), ids=AT_THE_LIMIT)
def test_formulas_at_the_limits_work_in_every_form(text):
    start = time.perf_counter()
    formula = Formula(text, NAMES)
    value = formula.scalar(0.5, 2.0)
    assert formula.vector([0.5, 0.5], 2.0).tolist() == [value, value]
    assert formula.rows([(0.5,)])((2.0,)) == [value]
    enclosure = formula.enclose({"x": (0.25, 0.75), "y": (2.0, 2.0)}, along=["x"])
    assert enclosure.low <= value <= enclosure.high
    assert time.perf_counter() - start < 3.0


TOKENS = [
    *("x", "y", "(", ")", "min(", "where(", "exp(", ",", "if", "else", "not", "and", ":="),
    *("<", "==", "**", "//", "%", "-", "+", "*", "1e308", "9", "0", ".5", "**9", "lambda"),
]


@given(
    st.text(alphabet="xy01.9eE+-*/%()<>=!,: \t\n'\"\\#_@&|~^[]{}ifelsnotandrmw\0é", max_size=40)
    | st.lists(
        st.sampled_from(TOKENS),
        max_size=24,
    ).map(" ".join)
)
@example("9**9**9")
@example("1if x<1else 2")
@example("x<y<x<y")
@settings(derandomize=True, deadline=None, max_examples=600)
def test_any_text_is_a_formula_or_a_formula_error(text):
    try:
        formula = Formula(text, NAMES)
        formula.enclose({"x": (0.5, 1.0), "y": (1.0, 2.0)}, along=NAMES)
    except FormulaError:
        return
    assert formula.scalar(1.0, 2.0) == pytest.approx(float(formula.vector(1.0, 2.0)))


def test_layout_does_not_matter():
    assert Formula(" min(x,\n\ty) ", NAMES).text == "min(x, y)"


def test_a_comparison_counts_as_zero_or_one():
    assert Formula("3 * (x >= y) + (1 if x == y else 0)", NAMES).scalar(2.0, 2.0) == 4.0
