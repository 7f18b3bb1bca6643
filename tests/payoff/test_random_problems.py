"""A formula makes a problem or an error, and every reward lies in the range of the problem."""

from __future__ import annotations

import itertools
import math
import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from formula.other_libraries import computed_elsewhere
from formula.random_formulas import random_formula, random_text

from onepull import CCB, DCB, Finite, Interval, Problem, recommended
from onepull.errors import OnepullError, ParameterError
from onepull.policies.registry import registered

ENDS = [-3.0, -1.0, -0.5, 0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 8.0, 27.0, 100.0]
WILD = [-math.inf, -1e200, 1e9, 1e200, math.inf]
LARGEST = 1.7e308


def space(rng: random.Random) -> Any:
    pool = ENDS + WILD if rng.random() < 0.2 else ENDS
    numbers = [
        rng.choice(pool) if rng.random() < 0.6 else rng.uniform(-5, 5)
        for _ in range(rng.choice([2, 2, 2, 4]))
    ]
    if len(numbers) > 2:
        return Finite({number for number in numbers if math.isfinite(number)} | {1.0})
    low, high = sorted(numbers)
    return Interval(low, high) if low < high else Finite([1, 2, 3])


def values(rng: random.Random, where: Any) -> list[float]:
    """Return values of a space: its ends, and some at and next to whole numbers."""
    if isinstance(where, Finite):
        return list(where.values)
    low, high = max(where.low, -LARGEST), min(where.high, LARGEST)
    near = [*map(float, range(-3, 10)), 27.0, 0.1, 0.3, rng.uniform(-9, 9), rng.uniform(-9, 9)]
    near += [math.nextafter(v, side) for v in [low, high, *near] for side in (-math.inf, math.inf)]
    within = [value for value in near if low <= value <= high]
    return [low, high, *rng.sample(within, min(6, len(within)))]


def build(rng: random.Random, text: str) -> Problem | None:
    context, state = {"c": space(rng), "d": space(rng)}, {"s": space(rng)}
    try:
        return Problem(arms=["a", "b"], context=context, state=state, reward=text)
    except OnepullError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_every_reward_lies_in_the_derived_range(seed):
    rng = random.Random(seed)  # noqa: S311
    built = 0
    for _ in range(150):
        problem = build(rng, random_formula(rng, ["c", "d", "s"]))
        if problem is None:
            continue
        built += 1
        payoff, formula = problem.payoff, problem.payoff.formula  # type: ignore[attr-defined]
        spaces = (*problem.context.values(), *problem.state.values())
        points = list(itertools.product(*(values(rng, where) for where in spaces)))
        points = rng.sample(points, min(60, len(points)))
        columns = np.array(points).T
        lows, highs = payoff.range({"c": (columns[0],) * 2, "d": (columns[1],) * 2})
        arrays, elsewhere = payoff.vector(*columns), computed_elsewhere(formula, rng)
        for i, point in enumerate(points):
            for reward in (payoff.scalar(*point), arrays[i], elsewhere(*point)):
                assert lows[i] <= reward <= highs[i], (problem, point)
                assert payoff.whole_range[0] <= reward <= payoff.whole_range[1], (problem, point)
    assert built > 75


@pytest.mark.parametrize("seed", range(2))
def test_what_passes_as_a_problem_passes_as_a_policy(seed):
    rng = random.Random(seed)  # noqa: S311
    for _ in range(40):
        problem = build(rng, random_formula(rng, ["c", "d", "s"]))
        if problem is None:
            continue
        policies: list[Any] = [recommended]
        if all(isinstance(where, Finite) for where in problem.context.values()):
            policies.append(DCB)
        elif all(math.isfinite(where.high - where.low) for where in problem.context.values()):
            widest = max(where.high - where.low for where in problem.context.values())
            policies.append(partial(CCB, delta=widest / 3))
        for policy in policies:
            made: Any = policy(problem)
            context = {name: values(rng, where)[0] for name, where in problem.context.items()}
            state = {name: values(rng, where)[0] for name, where in problem.state.items()}
            made.observe(made.choose(**context), **context, **state)


def nested(template: str, times: int) -> str:
    text = "s"
    for _ in range(times):
        text = template.format(text)
    return text


LARGE = {
    "16-argument min": nested("min(" + "c," * 15 + "{})", 50),
    "remainders": f"max({','.join(['c%1e-300'] * 20)})*s",
    "powers": f"max({','.join(['s**c'] * 90)})",
    "quotients": nested("({})//c", 60),
    "choices": nested("(s if s<c else {})", 58),
    "conditions": "1 if " + " and ".join(["s<c"] * 240) + " else 0",
    "sums": f"max({','.join(['s+c'] * 330)})",
}


@pytest.mark.parametrize(
    ("context", "state"),
    [(Interval(1, 4), Interval(0, 5)), (Finite(range(1, 5)), Finite(range(6)))],
)
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_large_formulas_pass_as_every_policy(text, context, state):
    problem = Problem(arms=["a", "b"], context={"c": context}, state={"s": state}, reward=text)
    made = 0
    kinds: dict[str, Any] = dict(registered())
    for name, kind in kinds.items():
        needed = {"CCB": {"delta": 0.1}}.get(name, {})
        try:
            policy = kind(problem, **needed)
        except (ParameterError, TypeError):
            continue  # it is for other problems, or needs other parameters
        made += 1
        policy.observe(policy.choose(c=2), c=2, s=1)
        policy.choose(c=3)
    assert made > 5


@pytest.mark.parametrize("seed", range(2))
def test_any_text_makes_a_problem_or_an_error(seed):
    rng = random.Random(seed)  # noqa: S311
    for _ in range(200):
        text = random_text(rng)
        try:
            Problem(
                arms=["a"], context={"x": Interval(0, 3)}, state={"y": Finite([1, 2])}, reward=text
            )
        except OnepullError as error:
            str(error).encode()


CONDITIONS = [
    *("c > s and c > s*2", "s<=c and s*s<=c", "c > s >= s*s", "not (c > s or s > 2*c)"),
    *("c > s or c > s*2", "c < s < c*2 and not s*s > c", "s > c - s and c > s - c"),
]
SPACES = [
    (Interval(1, 4), Interval(0, 5)),
    (Finite([1, 2, 3]), Interval(0, 5)),
    (Interval(1, 4), Finite([0, 1, 5])),
    (Finite([1, 4]), Finite([0, 1, 5])),
    (Interval(1, math.inf), Interval(-math.inf, 5)),
]


@pytest.mark.parametrize(("context", "state"), SPACES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_on_two_fields_make_problems(condition, context, state):
    for reward in (
        f"1 if {condition} else 0",
        f"{condition}",
        f"min(c, 4) if {condition} else (0 if s < 0 or {condition} else 1)",
    ):
        payoff = Problem(
            arms=["a"], context={"c": context}, state={"s": state}, reward=reward
        ).payoff
        rng = random.Random(0)  # noqa: S311
        for c, s in itertools.product(values(rng, context), values(rng, state)):
            assert payoff.whole_range[0] <= payoff.scalar(c, s) <= payoff.whole_range[1]
        assert set(payoff.monotone) == {"s"}
        assert set(payoff.lipschitz) == {"c"}
