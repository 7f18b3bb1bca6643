"""What the formula language accepts, and the errors for everything else."""

from __future__ import annotations

import ast
import itertools
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from formula.random_formulas import random_formula, random_text

from onepull.errors import FormulaError
from onepull.formula import Formula
from onepull.formula import operations as op
from onepull.formula.grammar import DEPTH, EXPONENT, MOST_PARTS, NESTING
from onepull.formula.tokens import LENGTH
from onepull.formula.tree import Apply, Field, Number

NAMES = ["x", "y"]

REFUSED = [
    # text, and the part that the error points at
    ("x.real + 1", "x.real"),
    ("1 + (x).__class__", "."),
    ("1 + foo(x)", "foo"),
    ("x + __import__('os')", "__import__"),
    ("min(x, y).real(1)", "."),
    ("x(1)", "x"),
    ("x + 'text'", "'text'"),
    ("x + b'text'", "b'text'"),
    ("x + f'{y}'", "f'{y}'"),
    ("min(x, lambda: 1)", "lambda"),
    ("1 + [x for x in y]", "["),
    ("max(x, {x: 1 for x in y})", "{"),
    ("max(1, (x for x in y))", "for"),
    ("1 + (z := 2)", "z"),
    ("1 + (x := 2)", ":="),
    ("x[0]", "["),
    ("(x, y)", ","),
    ("[x]", "["),
    ("{x}", "{"),
    ("1 + (await x)", "await"),
    ("1 + (yield)", "yield"),
    ("min(x, key=y)", "key"),
    ("min(x, y=2)", "="),
    ("min(x, *y)", "*"),
    ("min(**x)", "**"),
    ("x + True", "True"),
    ("x + None", "None"),
    ("x + ...", "..."),
    ("x * 2j", "2j"),
    ("x + 1e999", "1e999"),
    ("x * " + "9" * 400, "9" * 400),
    ("x + 0x" + "f" * 300, "0x" + "f" * 300),
    ("x + z", "z"),
    ("x + min", "min"),
    ("x @ y", "@"),
    ("x | y", "|"),
    ("x << 2", "<<"),
    ("1 + ~x", "~"),
    ("1 + (x is y)", "is"),
    ("1 + (x in y)", "in"),
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
    ("x +\0 y", "\ufffd"),
    ("x + \ud800", "\ufffd"),
    ("x + \x1b[31m", "\ufffd"),
    ("x\x7f", "\ufffd"),
    ("1 + not x < y", "not"),
    ("1__0 * x", "1__0"),
    ("0x_ + x", "0x_"),
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
    "ten million characters": "x+" * 5_000_000,
    "ten million spaces": "x" + " " * 10_000_000 + "+ y",
    "deep sum": "+".join(["x"] * (DEPTH + 3)),
    "deep parentheses": "(" * 1900 + "x" + ")" * 1900,
    "190 parentheses": "(" * 190 + "x" + ")" * 190,
    "deep signs": "-" * (LENGTH - 1) + "x",
    "deep not": "not " * 900 + "x",
    "deep power": "x**" * 1000 + "x",
    "deep calls": nested("exp({})", DEPTH + 1),
    "deep choices": "x if x<y else " * 200 + "x",
    "deep conditions": "x if " * 500 + "x",
    "deep chains": "(x<y<x<" * 51 + "y" + ")" * 51,
    "many parts": f"min({','.join(['x'] * (MOST_PARTS + 1))})",
    "many remainders": f"max({','.join(['x%1e-308'] * 240)})*y",
    "many powers": f"max({','.join(['x**y'] * 240)})",
    "many comparisons": "<".join(["x"] * 900),
    "many conditions": " or ".join(["x<y"] * 400),
    "doubling chain": nested("x<({})<x", 55),
    "power tower": "9**9**9**9",
    "powers of powers": nested("({})**100", 50),
    "open brackets": "[" * (LENGTH - 1),
    "open quotes": "x + '" * 700,
    "many digits": "9" * (LENGTH - 1) + "j",
    "many hexadecimal digits": "0x" + "f" * (LENGTH - 3),
    "many more digits": "9" * 100_000,
    "many underscores": "1" + "_" * (LENGTH - 2),
    "huge shift": "1 << 9**9",
    "huge text": "'a' * 9**9",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused(text):
    with pytest.raises(FormulaError) as caught:
        Formula(text, NAMES).enclose({"x": (2.0, 3.0), "y": (2.0, 3.0)})
    assert len(str(caught.value)) < 1000
    assert len(caught.value.text) <= LENGTH + 1


def test_the_documented_limits_hold():
    page = (Path(__file__).parents[2] / "docs" / "formulas.md").read_text(encoding="utf-8")
    stated = [
        f"{LENGTH:,} characters",
        f"{MOST_PARTS:,}: each number",
        f"{DEPTH}, so a sum may have",
    ]
    stated += [f"| {NESTING} |", f"from -{EXPONENT:g} to {EXPONENT:g}"]
    stated += [f"`**` as {op.POWER.cost}", f"`%` as {op.REMAINDER.cost}"]
    stated += [f"logarithms count as {op.FUNCTIONS['log'].cost}"]
    assert [limit for limit in stated if limit not in page] == []
    Formula("+".join(["x"] * (DEPTH + 1)), NAMES)
    Formula(nested("({})", NESTING - 1), NAMES)
    Formula(f"max({','.join(['x%y'] * (MOST_PARTS // (op.REMAINDER.cost + 2)))})", NAMES)


@pytest.mark.parametrize(
    "name",
    [
        *("y=print(1)", "y: 1", "y, z", "*y", "y=<code>", "lambda", "if", "None", "__import__"),
        *("_y", "_np", "__builtins__", "min", "where", "", " y", "y ", "1y", "é", "ｘ", "y\0"),
        *("y\n", "\ud800", "y.real", 3, None, b"y", ["y"]),
    ],
)
def test_a_name_that_is_not_one_is_refused(name):
    with pytest.raises(FormulaError, match="a name is a letter") as caught:
        Formula("x", ["x", name])
    str(caught.value).encode()


@pytest.mark.parametrize("names", ["x", ["x", "x"], 3, None])
def test_names_are_a_list_of_different_names(names):
    with pytest.raises(FormulaError, match="names of a formula must"):
        Formula("x", names)


# Each formula is as deep as one may be, or deeper.
SMALL_STACK = """
import threading
from onepull import CCB, Interval, OnepullError, Problem

def nested(template, times):
    text = "s"
    for _ in range(times):
        text = template.format(text)
    return text

def build():
    for times in (30, 40, 59, 60, 120, 127, 128, 190, 900):
        for template in (
            "({})", "-{}", "-({})", "s+({})", "({})+c", "({})//c", "floor({})", "clip({},0,c)",
            "min(" + "c," * 15 + "{})", "where(s<c,c,{})", "c if s<c else {}", "(c if s<{} else 1)",
            "(s<({})<c)", "not {}<c", "s**{}", "[{}]", "lambda: {}", "f'{{{}}}'", "(c<s<c<{})",
        ):
            try:
                problem = Problem(
                    arms=["a"], context={"c": Interval(1, 4)}, state={"s": Interval(0, 1)},
                    reward=nested(template, times),
                )
            except OnepullError:
                continue
            problem.payoff.scalar(2.0, 0.5)
            problem.payoff.vector(2.0, [0.5, 0.6])
            problem.payoff.lipschitz, problem.payoff.monotone
            CCB(problem, delta=0.1)
            built.append(template)

built = []
threading.stack_size(256 * 1024)
thread = threading.Thread(target=build)
thread.start()
thread.join()
print(len(built))
"""


def test_deep_formulas_need_no_deep_stack():
    done = subprocess.run(
        [sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 20


AT_THE_LIMIT = {
    "floor": nested("floor({})", DEPTH),
    "clip": nested("clip({},0,y)", DEPTH),
    "quotient": nested("({})//y", DEPTH),
    "power": nested("({})**1", DEPTH),
    "comparison": nested("x<({})", DEPTH),
    "remainder of truth": nested("(y<({}))%2", 20),
    "16-argument min": nested("min(y,y,y,y,y,y,y,y,y,y,y,y,y,y,y,{})", 50),
    "parentheses": nested("({})", 126),
    "choice": nested("(x if x<y else {})", DEPTH - 1),
    "choice in a condition": nested("(1 if x<{} else 2)", DEPTH // 2),
    "choice in conditions": nested("(1 if x<1 and {}>x or y>3 else 2)", DEPTH // 4 - 1),
    "wide min": f"min({','.join(['x'] * (MOST_PARTS - 1))})",
    "wide max of sums": f"max({','.join(['x+y'] * 300)})",
    "wide and": " and ".join(["x<1"] * 249),
    "wide or": " or ".join(["x<1"] * 249),
    "long chain": "<".join(["x"] * 330),
    "doubling chain": nested("x<({})<x", 6),
}


@pytest.mark.parametrize("text", AT_THE_LIMIT.values(), ids=AT_THE_LIMIT)
def test_formulas_at_the_limits_work_in_every_form(text):
    formula = Formula(text, NAMES)
    value = formula.scalar(0.5, 2.0)
    assert formula.vector([0.5, 0.5], 2.0).tolist() == [value, value]
    assert formula.rows([(0.5,)])((2.0,)) == [value]
    enclosure = formula.enclose({"x": (0.25, 0.75), "y": (2.0, 2.0)}, along=["x"])
    assert enclosure.low <= value <= enclosure.high


@pytest.mark.parametrize("seed", range(4))
def test_any_text_is_a_formula_or_a_formula_error(seed):
    rng = random.Random(seed)  # noqa: S311
    for _ in range(500):
        text = random_text(rng)
        try:
            formula = Formula(text, NAMES)
            formula.enclose({"x": (0.5, 1.0), "y": (1.0, 2.0)}, along=NAMES)
        except FormulaError as error:
            str(error).encode()
            continue
        point = formula.enclose({"x": (1.0, 1.0), "y": (2.0, 2.0)})
        for value in (formula.scalar(1.0, 2.0), float(formula.vector(1.0, 2.0))):
            assert point.low <= value <= point.high


# Python reads a formula as we do.

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
}


def in_python(node: Any) -> Any:  # noqa: C901, PLR0911 - one case for each kind of node
    """Return how Python reads a formula, as nested tuples."""
    match node:
        case ast.Constant(value=value):
            return float(str(value))
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return "floor", ("/", in_python(left), in_python(right))
        case ast.BinOp(left=left, op=sign, right=right):
            one, two = in_python(left), in_python(right)
            if isinstance(sign, ast.Pow) and two in op.POWERS:
                return op.POWERS[two].name, one
            return SIGNS[type(sign)], one, two
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return "not", in_python(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return in_python(operand)
        case ast.UnaryOp(operand=operand):
            inner = in_python(operand)
            return -inner if isinstance(inner, float) else ("-", inner)
        case ast.BoolOp(op=sign, values=values):
            return SIGNS[type(sign)], *map(in_python, values)
        case ast.Compare(left=left, ops=signs, comparators=others):
            sides = [in_python(side) for side in (left, *others)]
            links = [
                (SIGNS[type(sign)], *pair)
                for sign, pair in zip(signs, itertools.pairwise(sides), strict=True)
            ]
            return links[0] if len(links) == 1 else ("and", *links)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return "where", in_python(test), in_python(body), in_python(orelse)
        case ast.Call(func=function, args=terms):
            return in_python(function), *map(in_python, terms)
    raise AssertionError(ast.dump(node))


def in_ours(term: Any) -> Any:
    """Return how the language reads a formula, as nested tuples."""
    match term:
        case Number(value=value):
            return value
        case Field(name=name):
            return name
        case Apply(operation=op.INDICATOR, terms=(inner,)):
            return in_ours(inner)
        case Apply(operation=operation, terms=terms):
            return operation.name, *map(in_ours, terms)


def test_python_reads_formulas_alike():
    rng = random.Random(0)  # noqa: S311
    for _ in range(2000):
        text = random_formula(rng, NAMES)
        wanted = in_python(ast.parse(text, mode="eval").body)
        assert in_ours(Formula(text, NAMES).tree) == wanted, text


def test_layout_does_not_matter():
    assert Formula(" min(x,\n\ty) ", NAMES).text == "min(x, y)"


def test_a_comparison_counts_as_zero_or_one():
    assert Formula("3 * (x >= y) + (1 if x == y else 0)", NAMES).scalar(2.0, 2.0) == 4.0
