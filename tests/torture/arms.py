"""Arms as they are: attributes, failures, words and no bounds, and all that operators do."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from policies.mutations import mutated
from policy_cases import CASES, EVERYWHERE, ON_FINITE, Maker

from onepull import Finite, Interval, Policy, Problem
from onepull.errors import MergeError, OnepullError, SaveFileError
from onepull.payoff.box_points import is_finite
from onepull.testing.random_data import observations
from torture.area import Area

WORDS = ("eu", "us", "a b", "é")
PRICES = (0, 1, -1, 1e-4, 1e-300, 5e-324, 1e9, 1e150, 2**60)
ODD: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    None,
    "eu",
    "mars",
    "",
    [],
    True,
    10**400,
    1e308,
    -1e-320,
)
VALUES: tuple[Any, ...] = (
    0,
    1,
    0.5,
    2,
    3,
    31,
    -1,
    1e-300,
    5e-324,
    1e-9,
    1e9,
    1e100,
    1e150,
    1e300,
    *WORDS,
)
REWARDS = (
    "-x * (1 + abs(price))",
    "-(x + y * price) - z",
    "min(x, y) - price",
    "(x <= y) - 0.1 * price",
    "-x**2 + min(z, 1)",
    "1 / (1 + x) - price",
    "-log(1 + x) * (2 if home == 'eu' else 1)",
    "(x if home == region else 0) - price * y",
    "max(-x, -y - price, -1e12)",
)
FAILURES = (None, None, 0, -0.05, -1e6, "-1 - abs(price)", "-y", "-3 if home == 'eu' else -2", "-x")


class Chance:
    """Draws that are written shortly."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def __call__(self, share: float) -> bool:
        """Return True in this share of the calls."""
        return bool(self.generator.random() < share)

    def of(self, choices: Any) -> Any:
        """Return one of the choices."""
        return choices[int(self.generator.integers(len(choices)))]


def random_space(chance: Chance) -> Any:
    """Return an interval or a list, often without an end."""
    match int(chance.generator.integers(7)):
        case 0 | 1:
            return Interval(0, math.inf)
        case 2:
            return Interval(0, 30, outside="clip")
        case 3:
            return Interval(0.001, chance.of([1, 30, 1e9]), scale="log")
        case 4:
            return Interval(chance.of([-1, 0, 1]), math.inf, outside="clip")
        case 5:
            return Finite([0, 1])
        case _:
            return Finite([0, 0.5, 1, 2, 3])


def random_arms(chance: Chance) -> Any:
    """Return arms, usually with a price and a home."""
    names = ["a", "b", "c"][: int(chance.generator.integers(2, 4))]
    return {arm: attributes(chance) for arm in names} if chance(0.9) else names


def attributes(chance: Chance) -> dict[str, Any]:
    """Return the attributes of an arm."""
    return {"price": chance.of(PRICES), "home": chance.of(WORDS[:2])}


def random_problem(chance: Chance) -> Problem:
    """Return a problem with a reward of some of its fields; it may be refused."""
    context = {} if chance(0.2) else {"y": random_space(chance)}
    state = {"x": random_space(chance)}
    (context if chance(0.5) else state)["region"] = Finite(list(WORDS[:2]))
    if chance(0.5):
        state["z"] = random_space(chance)
    return Problem(
        arms=random_arms(chance),
        context=context,
        state=state,
        reward=chance.of(REWARDS),
        failure=chance.of(FAILURES),
        words={"home": ["eu", "us"]} if chance(0.5) else None,
    )


def arm_case(seed: int) -> bool:
    """Operate a policy in any way; a call that is refused changes nothing."""
    chance = Chance(seed)
    try:
        problem = random_problem(chance)
        policy = random_maker(problem, chance)(problem)
        if chance(0.2):
            policy.join("one")
    except OnepullError:
        return False
    for _ in range(20):
        before = policy.to_bytes()
        if error := refusal(chance.of(CALLS), policy, chance):
            assert policy.to_bytes() == before, f"changed by a refused call: {error}"
    look(policy)
    return True


def refusal(call: Callable[[Policy, Chance], None], policy: Policy, chance: Chance) -> str:
    """Return the words with which a call is refused; empty if it works."""
    try:
        call(policy, chance)
    except OnepullError as error:
        return str(error) or "an error without a message"
    return ""


def random_maker(problem: Problem, chance: Chance) -> Maker:
    """Return what makes a policy; half of the time the default."""
    makers = {**EVERYWHERE, **(ON_FINITE if is_finite(problem.context) else {})}
    return EVERYWHERE["AdaptiveKL"] if chance(0.5) else chance.of(list(makers.values()))


def a_context(policy: Policy, chance: Chance) -> dict[str, Any]:
    """Return a context that is usually right."""
    fields = policy.problem.context if policy.problem.context.has_fields else ()
    return {name: a_value(chance) for name in fields}


def a_value(chance: Chance) -> Any:
    return chance.of(ODD if chance(0.05) else VALUES)


def observe(policy: Policy, chance: Chance) -> None:
    """Observe a state, a reward or a failure, of a pull that is perhaps in flight."""
    context, arm = a_context(policy, chance), chance.of(policy.problem.arms)
    if chance(0.3):
        policy.pulled(arm, **context)
    match int(chance.generator.integers(6)):
        case 0:
            policy.observe(arm, failed=True, **context)
        case 1:
            policy.observe(arm, reward=a_value(chance), **context)
        case 2:
            # To choose may draw, also if the observation is refused.
            with suppress(OnepullError), policy.pull(**context) as pull:
                pull.observe(**{name: a_value(chance) for name in policy.problem.state})
        case _:
            state = {name: a_value(chance) for name in policy.problem.state}
            policy.observe(arm, **context, **state)


def learn(policy: Policy, chance: Chance) -> None:
    """Observe states that fit."""
    for pull in observations(policy.problem, 5, chance.generator):
        with suppress(OnepullError):  # a state whose reward would overflow
            policy.observe(**pull)


def choose(policy: Policy, chance: Chance) -> None:
    """Choose and explain."""
    context = a_context(policy, chance)
    assert policy.choose(**context) in policy.problem.arms
    for row in policy.explain(**context).arms:
        assert not math.isnan(row.index), row
        assert row.estimate is None or math.isfinite(row.estimate), row


def change_arms(policy: Policy, chance: Chance) -> None:
    """Add or remove an arm, or change its attributes."""
    arm, known = chance.of(policy.problem.arms), attributes(chance)
    match int(chance.generator.integers(3)):
        case 0:
            policy.add_arm(chance.of(["d", "e", arm]), **(known if chance(0.8) else {}))
        case 1:
            policy.remove_arm(arm)
        case _:
            policy.set_attributes(arm, **({"price": known["price"]} if chance(0.5) else known))


def control(policy: Policy, chance: Chance) -> None:
    """Pause, resume, pin or share."""
    arm = chance.of(policy.problem.arms)
    least, most = sorted(chance.of([0, 0.1, 0.5, 1, 1e-9, math.nan]) for _ in range(2))
    calls: tuple[Callable[[], None], ...] = (
        lambda: policy.pause(arm),
        lambda: policy.resume(arm),
        lambda: policy.pin(arm if chance(0.5) else None),
        lambda: policy.share(arm, least=least, most=most),
    )
    chance.of(calls)()


def another_reward(policy: Policy, chance: Chance) -> None:
    """Change the reward, or load into the same problem with another one."""
    if hasattr(policy, "with_reward"):
        look(policy.with_reward(chance.of(REWARDS)))


def look(policy: Policy, chance: Chance | None = None) -> None:
    """Print, count, and save; the copy is the same."""
    del chance
    _ = str(policy.stats()), policy.stats().to_dict(), repr(policy), policy.storage
    saved = policy.to_bytes()
    assert Policy.from_bytes(saved).to_bytes() == saved


CALLS = (observe, observe, learn, choose, choose, change_arms, control, another_reward, look)


@cache
def told(name: str) -> bytes | None:
    """Return the updates of a member of a fleet; None if the policy cannot be in one."""
    build, problem = CASES[name]
    policy = build(problem())
    policy.join("one")
    for pull in observations(problem(), 15, np.random.default_rng(5)):
        policy.observe(**pull)
    return policy.updates()


def fleet_case(seed: int) -> bool:
    """Absorb forged updates: they are refused and change nothing, or the policy still works."""
    chance = Chance(seed)
    name = chance.of([name for name, (_, made) in CASES.items() if made().reward.is_formula])
    build, made = CASES[name]
    problem, policy = made(), build(made())
    policy.join("two")
    before = policy.to_bytes()
    try:
        policy.absorb(mutated(told(name) or b"", chance.generator))
    except (MergeError, SaveFileError):
        assert policy.to_bytes() == before, "changed by refused updates"
        return False
    for pull in observations(problem, 4, chance.generator):
        assert policy.choose(**problem.context.among(pull)) in policy.problem.arms
        policy.observe(**pull)
    look(policy)
    third = build(problem)
    third.join("three")
    third.absorb(policy.updates())
    return True


OPERATED = Area(
    name="real-arms",
    tries="a policy for arms with attributes, failures, words and no bounds is used in every way; "
    "a refused call changes nothing",
    case=arm_case,
    in_tests=75,
    share=2.0,
    fixed=(
        "a window that had seen an arm that was removed since was saved and could not be loaded",
    ),
)
FLEETS = Area(
    name="fleet-updates",
    tries="values in updates of a fleet are changed, with a checksum that fits",
    case=fleet_case,
    in_tests=40,
)
