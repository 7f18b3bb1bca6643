"""Likelihoods of sets: the self-consistent law and the bound on its mean, by their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepull.index.empirical_likelihood import likely_mean
from onepull.index.set_likelihood import coarse_bound, likely_shares, log_likelihood


@st.composite
def sightings(draw, levels=3, sets=5):
    """Draw sets of levels that cover all of them, and how often each was seen."""
    subsets = [s for s in itertools.product((0.0, 1.0), repeat=levels) if any(s)]
    chosen = draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=sets, unique=True))
    told = np.array(chosen)
    if not told.any(axis=0).all():
        told = np.vstack([told, np.ones(levels)])
    counts = draw(st.lists(st.integers(1, 60), min_size=len(told), max_size=len(told)))
    return told, np.array(counts, dtype=float)


@given(sightings(levels=4, sets=7))
def test_the_law_shares_every_observation_out_as_it_says_itself(seen):
    told, counts = seen
    law = likely_shares(told, counts)
    pulls = counts.sum()
    pull = (told.T * (counts / (told @ law))).sum(axis=1) / pulls
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(law > 0)
    assert np.allclose(law * pull, law, atol=2e-5)  # Turnbull's equation
    assert np.all(pull <= 1 + 1e-4)  # and no state would raise the likelihood further


@given(sightings(levels=4, sets=7), st.integers(0, 2**32 - 1))
def test_no_other_law_is_more_likely(seen, seed):
    told, counts = seen
    best = log_likelihood(told, counts, likely_shares(told, counts))
    for other in np.random.default_rng(seed).dirichlet(np.full(4, 0.3), 200):
        assert log_likelihood(told, counts, np.maximum(other, 1e-12)) <= best + 1e-4


def kaplan_meier(exact, beyond):
    """Return the product-limit law: how likely each level is, by the definition on a list of times.

    A state that is known to be k or more may be k, so it left before any was seen to be k.
    """
    seen = [k for k, many in enumerate(exact) for _ in range(many)]
    left = [k - 0.5 for k, many in enumerate(beyond) for _ in range(many)]
    reached = []
    for level in range(len(exact)):
        chance = 1.0
        for time in sorted(set(seen)):
            if time < level:
                chance *= 1 - seen.count(time) / sum(t >= time for t in seen + left)
        reached.append(chance)
    return -np.diff([*reached, 0.0])


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.lists(st.integers(0, 9), min_size=4))
def test_with_one_end_hidden_it_is_the_product_limit_law(exact, beyond):
    exact = [*exact[:3], exact[3] + 1]  # the last level is told, so the law is unique
    beyond = beyond[:4]
    told = np.array([*np.eye(4), *(np.arange(4) >= k for k in range(4))], dtype=float)
    counts = np.array([*exact, *beyond], dtype=float)
    told, counts = told[counts > 0], counts[counts > 0]
    live = told.any(axis=0)
    law = np.zeros(4)
    law[live] = likely_shares(told[:, live], counts)
    limited = kaplan_meier(exact, beyond)
    for values in ([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]):
        assert law @ values == pytest.approx(limited @ values, abs=1e-4)


SIMPLEX = (
    np.array([(a, b, 120 - a - b) for a in range(121) for b in range(121 - a)], dtype=float).clip(
        1e-9
    )
    / 120
)


@given(
    sightings(),
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
    st.floats(0.05, 12.0),
)
def test_the_bound_is_the_highest_mean_of_a_likely_law(seen, values, risk):
    told, counts = seen
    worth = np.array(values, dtype=float)
    law = likely_shares(told, counts)
    bound, rise = coarse_bound(told, counts, worth, float(worth.max()), law, risk)
    best = log_likelihood(told, counts, law)
    with np.errstate(divide="ignore"):
        likely = (counts * np.log(SIMPLEX @ told.T)).sum(axis=1) >= best - risk
    means = SIMPLEX @ worth
    if likely.any():
        assert bound >= means[likely].max() - 1e-9
    # It is reached: a law a little more likely than it must be has a mean next to it.
    assert bound <= worth.max() + 1e-9
    assert rise >= 0
    closest = _highest(told, counts, worth, best - risk, law)
    assert bound == pytest.approx(closest, abs=2e-3 * (np.ptp(worth) + 1e-9))


def _highest(told, counts, worth, least, law):
    """Go from the most likely law of three states in every direction until it is too unlikely.

    Likely laws are a convex set, so the highest mean is at the end of one of these ways, and ends
    next to each other have means next to each other.
    """
    low, high = 0.0, 2 * np.pi
    for _ in range(4):  # each time in directions closer to the best one
        angles = np.linspace(low, high, 400)
        ways = np.column_stack([np.cos(angles), np.sin(angles), -np.cos(angles) - np.sin(angles)])
        near, far = np.zeros(len(ways)), np.min(law / np.maximum(-ways, 1e-12), axis=1)
        for _ in range(50):
            middle = (near + far) / 2
            laws = np.maximum(law + middle[:, None] * ways, 1e-300)
            is_likely = (counts * np.log(laws @ told.T)).sum(axis=1) >= least
            near, far = np.where(is_likely, middle, near), np.where(is_likely, far, middle)
        means = (law + near[:, None] * ways) @ worth
        best, step = angles[np.argmax(means)], angles[1] - angles[0]
        low, high = best - step, best + step
    return means.max()


@given(
    st.lists(st.integers(1, 200), min_size=2, max_size=6),
    st.integers(0, 2**32 - 1),
    st.floats(0.01, 15.0),
)
def test_where_every_state_was_seen_it_is_the_empirical_likelihood_bound(counts, seed, risk):
    values = np.random.default_rng(seed).normal(size=len(counts))
    pulls = np.array(counts, dtype=float)
    law = pulls / pulls.sum()
    top = float(values.max() + 0.3)
    bound, _ = coarse_bound(np.eye(len(counts)), pulls, values, top, law, risk)
    exact = likely_mean(values, law, len(counts), top, risk / pulls.sum())
    assert exact - 1e-9 <= bound <= exact + 1e-4 * (top - values.min())


@given(sightings(), st.floats(0.1, 8.0), st.floats(0.0, 4.0))
def test_the_rise_tells_how_high_the_bound_can_be_at_more_risk(seen, risk, more):
    told, counts = seen
    worth = np.array([0.0, 1.0, 2.5])
    law = likely_shares(told, counts)
    bound, rise = coarse_bound(told, counts, worth, 2.5, law, risk)
    later, _ = coarse_bound(told, counts, worth, 2.5, law, risk + more)
    assert bound - 1e-6 <= later <= bound + rise * more + 1e-6


@pytest.mark.parametrize("pulls", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("uninformative", [0.0, 0.999])
def test_the_bound_is_sharp_however_many_pulls_there_were(pulls, uninformative):
    told = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    law = np.array([0.3, 0.5, 0.2])
    counts = np.array([*((1 - uninformative) * pulls * law), uninformative * pulls])
    told, counts = told[counts > 0], counts[counts > 0]
    values = np.array([0.0, 1.0, 3.0])
    bound, _ = coarse_bound(told, counts, values, 3.0, law, 6.0)
    informative = (1 - uninformative) * pulls
    exact = likely_mean(values, law, 3, 3.0, 6.0 / informative)
    mean = law @ values
    assert bound - mean == pytest.approx(exact - mean, rel=1e-3)


@given(
    sightings(),
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
    st.floats(0.05, 12.0),
    st.integers(-900, 900),
)
def test_a_power_of_two_scales_the_bound_exactly(seen, values, risk, exponent):
    told, counts = seen
    worth, law, unit = np.array(values, dtype=float), likely_shares(told, counts), 2.0**exponent
    bound, rise = coarse_bound(told, counts, worth, 3.0, law, risk)
    scaled = coarse_bound(told, counts, worth * unit, 3.0 * unit, law, risk)
    assert scaled == (bound * unit, rise * unit)


@given(
    sightings(),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.lists(st.sampled_from([5e-324, 1e-310, 1e-300, 1.0, 1e150, 1e300]), min_size=3, max_size=3),
    st.sampled_from([0.0, 1e-15, 1e-3, 0.7, 12.0]),
)
def test_no_size_of_the_reward_breaks_the_bound(seen, values, sizes, risk):
    told, counts = seen
    worth = np.array(values) * sizes
    bound, rise = coarse_bound(
        told, counts, worth, float(worth.max()), likely_shares(told, counts), risk
    )
    assert worth.min() <= bound <= worth.max()
    assert rise >= 0.0
