"""Formulas: any text at all, and valid ones against their derived ranges."""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from formula.other_libraries import computed_elsewhere
from formula.random_formulas import random_formula, random_text

from onepull import CCB, DCB, Finite, Interval, Policy, Problem, recommended
from onepull.errors import FormulaError, OnepullError, ParameterError
from onepull.formula import Formula
from onepull.spaces import Space
from onepull.testing.random_data import observations
from torture.area import Area

NAMES = ("x", "y")
WORDS = ("eu", "us", "a b", "é", "x", "min")
ENDS = (-math.inf, -1e200, -3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 1e9, 1e200, math.inf)
LARGEST = sys.float_info.max
MOST = 200  # points at which a formula is computed


def text_case(seed: int) -> bool:
    """Build a problem with any text as its reward, and use it."""
    rng = random.Random(seed)  # noqa: S311 - cases, not secrets
    words = _words(rng)
    text = random_text(rng, words)
    context, state = {"x": _space(rng)}, {"y": _space(rng)}
    for name, listed in words.items():
        rng.choice([context, state])[name] = Finite(listed)
    try:
        problem = Problem(arms=["a", "b"], context=context, state=state, reward=text)
    except OnepullError:
        return False
    if rng.random() < 0.2:  # to build a policy takes longer than to read a formula
        _use(problem, rng)
    return True


def _words(rng: random.Random) -> dict[str, list[str]]:
    """Return fields of words: none, one, or two with the same words in the same order."""
    listed = rng.sample(WORDS, rng.randint(1, len(WORDS)))
    return dict.fromkeys(rng.choice([(), (), ("v",), ("v", "w")]), listed)


def _space(rng: random.Random) -> Space:
    low, high = _ends(rng)
    if rng.random() < 0.5:
        return Interval(low, high)
    return Finite([max(low, -1e300), min(high, 1e300)])


def _ends(rng: random.Random) -> tuple[float, float]:
    low, high = sorted(rng.choice([rng.choice(ENDS), rng.uniform(-5, 5)]) for _ in range(2))
    possible = low < high and low < math.inf and high > -math.inf
    return (low, high) if possible else (0.5, 2.0)


def _use(problem: Problem, rng: random.Random) -> None:
    """Let a policy play: what makes a problem works in every policy that takes it."""
    try:
        policy = recommended(problem) if rng.random() < 0.5 else _paper_policy(problem)
    except ParameterError:  # such as an unbounded reward
        return
    for pull in observations(problem, 3, np.random.default_rng(rng.randrange(2**32))):
        policy.choose(**{name: pull[name] for name in problem.context})
        policy.observe(**pull)


def _paper_policy(problem: Problem) -> Policy:
    space = problem.context["x"]
    width = space.high - space.low
    if isinstance(space, Finite) or width == math.inf:
        return DCB(problem)
    return CCB(problem, delta={"x": width / 9})


def range_case(seed: int) -> bool:
    """Compute a formula at points of a box in every form; all values are in its range."""
    rng = random.Random(seed)  # noqa: S311 - the same
    words = _words(rng)
    box = {name: _ends(rng) for name in NAMES}
    points = {name: _points(rng, ends) for name, ends in box.items()}
    for name, listed in words.items():
        points[name] = [float(place) for place in range(len(listed))]
        box[name] = points[name][0], points[name][-1]
    try:
        formula = Formula(random_formula(rng, NAMES, words), [*box], words)
        found = formula.enclose(box)
    except FormulaError:
        return False
    low, high = float(found.low), float(found.high)
    rows = _rows(rng, points.values())
    elsewhere = computed_elsewhere(formula, rng)
    arrays = formula.vector(*np.array(rows).T).tolist()
    for row, value in zip(rows, arrays, strict=True):
        for form in (value, formula.scalar(*row), elsewhere(*row)):
            assert low <= form <= high, (formula.text, row, form, low, high)
    return True


def _rows(rng: random.Random, points: Iterable[list[float]]) -> list[tuple[float, ...]]:
    """Return the points of a box that have these coordinates, or some of them if they are many."""
    rows = list(itertools.product(*points))
    return rng.sample(rows, MOST) if len(rows) > MOST else rows


def _points(rng: random.Random, ends: tuple[float, float]) -> list[float]:
    """Return points of an interval: ends, whole numbers and their neighbours, and others."""
    low, high = (min(max(end, -LARGEST), LARGEST) for end in ends)
    jump = float(rng.randint(-3, 30))
    near = [jump, math.nextafter(jump, math.inf), math.nextafter(jump, -math.inf)]
    between = [rng.uniform(max(low, -1e3), min(high, 1e3)) for _ in range(2)]
    return sorted({low, high, *(min(max(value, low), high) for value in near + between)})


def compiled_case(seed: int) -> bool:
    """Compile a formula; its values are those of the scalar form, bit for bit."""
    from onepull.simulation.compiled_formula import machine_code  # noqa: PLC0415 - heavy

    rng = random.Random(seed)  # noqa: S311 - the same
    words = _words(rng)
    spaces = {"x": Interval(0.5, 4), "y": Interval(-2, 3)}
    listed = {name: Finite(those) for name, those in words.items()}
    try:
        problem = Problem(
            arms=["a"],
            context={"x": spaces["x"], **listed},
            state={"y": spaces["y"]},
            reward=random_formula(rng, NAMES, words),
        )
    except OnepullError:
        return False
    points = {name: _points(rng, (space.low, space.high)) for name, space in spaces.items()}
    points |= {name: [float(place) for place in range(len(those))] for name, those in words.items()}
    rows = _rows(rng, [points[name] for name in problem.payoff.names])
    rewards = np.empty(len(rows))
    _caller()(machine_code(problem.payoff), np.ascontiguousarray(np.array(rows).T), rewards)
    expected = [problem.payoff.scalar(*row) for row in rows]
    assert rewards.tolist() == expected, problem.reward.source
    return True


@cache
def _caller() -> Any:
    from onepull.simulation.compiled import numba  # noqa: PLC0415 - heavy

    return numba.njit(lambda g, columns, rewards: g(columns, rewards))  # as a kernel does


TEXTS = Area(
    name="formula-texts",
    tries="a text, valid or not, becomes the reward of a problem, which a policy then plays",
    case=text_case,
    in_tests=400,
    share=2.0,
    fixed=(
        "`1 if c > s and c > s*2 else 0` raised a numpy error about shapes",
        "240 remainders in one formula took 11 s",
        "51 nested comparisons raised a bare `SyntaxError`",
        "50 nested `min` passed `Problem` and failed in `CCB`",
        "190 brackets ended a process with a stack of 256 kB",
        "a name such as `y=<code>` was run as code",
        "if contexts had no bounds, every state was refused as too large",
    ),
)
RANGES = Area(
    name="ranges",
    tries="a formula is computed with numbers, arrays and another library; its range holds",
    case=range_case,
    in_tests=600,
    share=2.0,
    fixed=("`floor(x**(1/3))` at 27 was 3 for a number and 2 in an array, outside its range",),
)
COMPILED = Area(
    name="compiled",
    tries="a formula is compiled; it gives the numbers of the interpreter, bit for bit",
    case=compiled_case,
    in_tests=4,
    seconds=5.0,  # to compile
)
