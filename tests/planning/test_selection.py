"""The rule that proposes one option, on options made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from onepull.planning import Option
from onepull.planning.selection import propose

RUNS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # the 95 % interval of their mean is ±1.96


def option(name, numbers, regret, spread=1.0) -> Option:
    return Option(name, "", {}, 1000, numbers, 1.0, regret + spread * RUNS)


SMALL = option("small", 10, 300.0)
MIDDLE = option("middle", 100, 103.0)
LARGE = option("large", 1000, 100.0)
ALL = [LARGE, SMALL, MIDDLE]


def test_an_interval_is_students():
    assert LARGE.interval == pytest.approx((100 - 1.963, 100 + 1.963), abs=1e-3)
    assert not LARGE.is_cut


def test_an_interval_goes_below_zero_only_if_regret_does():
    few = Option("few", "", {}, 1000, 10, 1.0, np.array([0.0, 4.0]))
    assert few.interval is not None
    assert few.interval[0] == 0.0
    assert few.is_cut
    below = option("below", 10, 0.0)  # as with realised rewards
    assert below.interval == pytest.approx((-1.963, 1.963), abs=1e-3)
    assert not below.is_cut


@pytest.mark.parametrize(
    ("storage", "name"), [(80, "small"), (799, "small"), (800, "middle"), (8000, "large")]
)
def test_a_storage_budget_takes_the_least_regret_within_it(storage, name):
    chosen, why = propose(ALL, storage=storage)
    assert chosen is not None
    assert chosen.name == name
    assert f"lowest regret within {storage:,} bytes" in why


def test_within_noise_less_storage_is_better_and_it_says_so():
    # The difference, run by run, is 3 ± 5: it may be nothing.
    noisy = Option("noisy", "", {}, 1000, 100, 1.0, 103.0 - 2 * RUNS)
    chosen, why = propose([LARGE, SMALL, noisy], storage=8000)
    assert chosen is noisy
    assert "within 8,000 bytes, 100 (large)" in why
    assert "800" in why


def test_noise_is_judged_run_by_run_on_the_same_draws():
    # Their intervals overlap widely, but on every draw the large one loses 3 less.
    small, large = option("small", 10, 103.0, spread=50), option("large", 1000, 100.0, spread=50)
    assert propose([small, large], storage=8000)[0] is large


def test_noise_does_not_excuse_much():
    # The difference is 50 ± 98: too few runs to tell, so it is safer to keep more.
    wild = Option("wild", "", {}, 1000, 100, 1.0, 150.0 - 50 * RUNS)
    assert propose([LARGE, wild], storage=8000)[0] is LARGE
    assert propose([LARGE, wild])[0] is LARGE


@pytest.mark.parametrize(
    ("regret", "name"), [(1000, "small"), (200, "middle"), (105, "middle"), (104.9, "large")]
)
def test_a_regret_budget_takes_the_least_storage_that_keeps_to_it_surely(regret, name):
    # 103 ± 1.96 keeps to 105, and not surely to 104.9.
    chosen, why = propose(ALL, regret=regret)
    assert chosen is not None
    assert chosen.name == name
    assert "with 95 % confidence" in why


def test_without_a_budget_it_is_the_knee_and_it_says_so():
    chosen, why = propose(ALL)
    assert chosen is MIDDLE
    assert "within noise or 5 % of the lowest, 100 (large)" in why
    far = option("far", 100, 106.0)
    chosen, why = propose([LARGE, SMALL, far])
    assert chosen is LARGE
    assert "it has the lowest regret, 100" in why


def test_both_budgets_must_be_kept():
    assert propose(ALL, storage=800, regret=200)[0] is MIDDLE
    chosen, why = propose(ALL, storage=80, regret=200)
    assert chosen is None
    assert "within 80 bytes" in why
    assert "the lowest is 300 " in why


def test_nothing_fits():
    assert propose(ALL, storage=79) == (
        None,
        "no option fits in 79 bytes; the smallest, small, needs 80",
    )
    chosen, why = propose(ALL, regret=50)
    assert chosen is None
    assert why.startswith(
        "no option has a regret of at most 50 with 95 % confidence; the lowest is 100 "
    )
    assert why.endswith("by large")


def test_equal_storage_goes_to_the_lesser_regret():
    better = option("better", 10, 200.0)
    assert propose([SMALL, better], regret=1000)[0] is better
