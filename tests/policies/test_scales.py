"""Rewards of any size: from next to the smallest number to next to the largest."""

from __future__ import annotations

import inspect

import pytest
from scales import build, play, problem, use_everything

from onepull import DCB, UCB1, CoarseKL, EmpiricalKL, MultiUCB
from onepull.errors import ProblemError, RewardError
from onepull.policies.registry import registered

SIZES = (5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1.0, 1e100, 1e154, 1e200, 1e300)
FORMS = [
    *(f"{size!r} * min(y, x)" for size in SIZES),
    *(f"-{size!r} * x * y" for size in (1e-310, 1e-300, 1e154, 1e299)),
    # Contexts with ranges of very different sizes.
    "x * (y**90) ** 5",
    "1e-40 * x / (y**90) ** 5",
    # Large beside their range.
    "1.7e9 - 3 * x * y",
    "1e9 + 1e-6 * min(y, x)",
    "1e300 + 1e285 * min(y, x)",
    # A range of zero, in all contexts or in each.
    "5 + 0 * x * y",
    "0 * x * y",
    "1e300 * y + 0 * x",
]
SHARINGS = ("blind", "per-context", "histogram", "sketch(9)", "low-rank(1e-3)")
SHARED = [
    name for name, kind in registered().items() if "sharing" in inspect.signature(kind).parameters
]
EXPONENTS = (-990, -40, 300, 990)


@pytest.mark.parametrize("name", registered())
def test_no_size_of_the_reward_breaks_a_policy(name):
    """Numpy's warnings are errors here."""
    tried = 0
    for i, form in enumerate(FORMS):
        for spaces in [("listed", "listed"), ("interval", "interval")]:
            if spaces[0] == "interval" and i % 3:  # they take long to analyse
                continue
            policy = build(registered()[name], problem(form, *spaces))
            if policy is not None:
                use_everything(policy)
                tried += 1
    assert tried


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("sharing", SHARINGS)
def test_no_size_breaks_a_sharing(name, sharing):
    """Every policy and every sharing is tried with every form, but not all three together."""
    for form in FORMS[(SHARED.index(name) + SHARINGS.index(sharing)) % 2 :: 2]:
        policy = build(registered()[name], problem(form), sharing=sharing)
        if policy is not None:
            use_everything(policy)


@pytest.mark.parametrize("name", registered())
@pytest.mark.parametrize(
    ("form", "spaces"),
    [
        ("min(y, x)", ("listed", "listed")),
        ("(3 - x * y)", ("listed", "interval")),
        ("min(y, x)", ("interval", "interval")),
    ],
)
def test_a_power_of_two_changes_no_choice(name, form, spaces):
    """A power of two scales every reward exactly, so the choices are the same step for step."""
    first = build(registered()[name], problem(form, *spaces))
    if first is None:
        pytest.skip("not for this problem")
    chosen = play(first, 50)
    for exponent in EXPONENTS:
        scaled = build(registered()[name], problem(f"{2.0**exponent!r} * {form}", *spaces))
        assert scaled is not None
        assert play(scaled, 50) == chosen, exponent


@pytest.mark.parametrize("kind", [UCB1, MultiUCB, CoarseKL, DCB, EmpiricalKL])
@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("1.7e9 - 3 * x", 1.7e9 - 12, 1.7e9 + 1.6),
        ("1.7e9 - 3 * x", 1.7e9 - 12, 1.7e9 - 13),
        ("1e-12 * x", 4e-12, 4.001e-12),
        ("1e-300 * x", 4e-300, 1e-299),
        ("1e300 * x", 4e300, 4.0001e300),
    ],
)
def test_a_reward_outside_its_range_is_refused_at_every_size(kind, form, right, wrong):
    policy = kind(problem(form))
    for slip in (-1e-12, 0.0, 1e-12):
        low, high = policy.problem.payoff.whole_range
        policy.observe("a", y=1, reward=right + slip * (high - low))
    before = policy.to_bytes()
    with pytest.raises(RewardError, match="is impossible"):
        policy.observe("a", y=1, reward=wrong)
    assert policy.to_bytes() == before


def test_a_reward_that_is_large_beside_its_range_tells_the_states_apart():
    policy = CoarseKL(problem("1.7e9 - 3 * x"))
    policy.observe("a", y=1, reward=1.7e9 - 3)
    assert policy.sightings.sets[0] == {(1,): 1}


def test_a_reward_with_a_range_of_zero_takes_that_reward_alone():
    policy = UCB1(problem("5 + 0 * x"))
    policy.observe("a", y=1, reward=5.0)
    with pytest.raises(RewardError, match="expected 5 to 5"):
        policy.observe("a", y=1, reward=5 + 1e-9)


@pytest.mark.parametrize("state", ["listed", "interval"])
@pytest.mark.parametrize(
    "form", ["4e307 * (x - 2)", "4e307 * x", "1e302 * x", "-1e302 * x * y", "1e303 + x * y"]
)
def test_a_reward_next_to_the_largest_number_is_refused(form, state):
    with pytest.raises(ProblemError, match=r"too large to compute with: .* divide it"):
        problem(form, state=state)


@pytest.mark.parametrize("exponent", [-990, -40, 300, 990])
@pytest.mark.parametrize("state", ["listed", "interval"])
def test_a_reward_determines_the_state_at_every_size(exponent, state):
    task = problem(f"{2.0**exponent!r} * x * y", state=state)
    plain = problem("x * y", state=state)
    for y, x in ((1.0, 0.0), (2.0, 3.0), (4.0, 4.0)):
        found = task.payoff.invert(task.payoff(y=y, x=x), (y,))
        assert found == plain.payoff.invert(plain.payoff(y=y, x=x), (y,))
