"""Formulas: any text at all, and valid ones against their derived ranges."""

from __future__ import annotations

import itertools
import math
import random
import sys
from functools import cache
from typing import Any

import numpy as np
from formula.other_libraries import computed_elsewhere
from formula.random_formulas import random_formula, random_text

from onepull import CCB, DCB, Finite, Interval, Problem, recommended
from onepull.errors import FormulaError, OnepullError
from onepull.formula import Formula
from onepull.spaces import Space
from onepull.testing.random_data import observations
from torture.area import Area

NAMES = ("x", "y")
ENDS = (-math.inf, -1e200, -3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 1e9, 1e200, math.inf)
LARGEST = sys.float_info.max


def text_case(seed: int) -> bool:
    """Build a problem with any text as its reward, and use it."""
    rng = random.Random(seed)  # noqa: S311 - cases, not secrets
    text = random_text(rng)
    try:
        problem = Problem(
            arms=["a", "b"], context={"x": _space(rng)}, state={"y": _space(rng)}, reward=text
        )
    except OnepullError:
        return False
    if rng.random() < 0.2:  # to build a policy takes longer than to read a formula
        _use(problem, rng)
    return True


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
    listed = isinstance(problem.context["x"], Finite)
    try:
        if rng.random() < 0.5:
            policy = recommended(problem)
        else:
            policy = DCB(problem) if listed else CCB(problem, delta=problem.context["x"].high / 9)
    except OnepullError:  # such as an unbounded reward
        return
    for pull in observations(problem, 3, np.random.default_rng(rng.randrange(2**32))):
        policy.choose(x=pull["x"])
        policy.observe(**pull)


def range_case(seed: int) -> bool:
    """Compute a formula at points of a box in every form; all values are in its range."""
    rng = random.Random(seed)  # noqa: S311 - the same
    box = {name: _ends(rng) for name in NAMES}
    try:
        formula = Formula(random_formula(rng, NAMES), NAMES)
        found = formula.enclose(box)
    except FormulaError:
        return False
    low, high = float(found.low), float(found.high)
    pairs = list(itertools.product(*(_points(rng, box[name]) for name in NAMES)))
    elsewhere = computed_elsewhere(formula, rng)
    arrays = formula.vector(*np.array(pairs).T).tolist()
    for (x, y), value in zip(pairs, arrays, strict=True):
        for form in (value, formula.scalar(x, y), elsewhere(x, y)):
            assert low <= form <= high, (formula.text, x, y, form, low, high)
    return True


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
    spaces = {"x": Interval(0.5, 4), "y": Interval(-2, 3)}
    try:
        problem = Problem(
            arms=["a"],
            context={"x": spaces["x"]},
            state={"y": spaces["y"]},
            reward=random_formula(rng, NAMES),
        )
    except OnepullError:
        return False
    points = [_points(rng, (space.low, space.high)) for space in spaces.values()]
    pairs = np.array(list(itertools.product(*points)))
    rewards = np.empty(len(pairs))
    _caller()(machine_code(problem.payoff), np.ascontiguousarray(pairs.T), rewards)
    expected = [problem.payoff.scalar(*pair) for pair in pairs.tolist()]
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
