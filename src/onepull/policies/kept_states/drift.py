"""How fast arms change, learned from how well each candidate has predicted so far.

The reward of an arm is a long-run mean, plus a deviation that fades, plus noise.  A candidate says
how long a deviation lasts and how large it is; the first one says that there is none.  Each
candidate is a Kalman filter.  Its gains do not depend on the rewards, so they are the same in all
contexts, and a pull tells in many contexts at once how well each candidate predicted it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, log
from typing import Any, NamedTuple

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count, restored
from onepull.errors import SaveFileError

# Half-lives of a deviation in trials, and its variance in units of that of the noise.
HALF_LIVES = (4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)
VARIANCES = (0.3, 3.0)
CANDIDATES = np.array([(0.0, 0.0), *((np.log(2.0) / h, v) for h in HALF_LIVES for v in VARIANCES)])
DECAYS, DEVIATIONS = CANDIDATES.T.copy()
STEADY = 0  # the candidate without deviations
ODDS = 5.0  # logarithm of the prior odds of no change
CARRIED = 10.0  # logarithm of the odds that a belief keeps if rewards are replaced
POOLED = 2.0  # how many observations what other arms show about noise counts for
LEAST_NOISE_COUNT = 3  # observations of noise before candidates are compared
LEAST_VARIANCE = 1e-30  # what varies less counts as constant
LARGEST_LEVEL = 1e200  # level or square after the unit of rewards has changed

add, divide, log1p, multiply, subtract = np.add, np.divide, np.log1p, np.multiply, np.subtract


def most_likely(likelihood: Sequence[float]) -> int:
    """Return the candidate to go by: no change, unless change is more likely.

    Change is as likely as its candidates are on average, so a single one that predicted well by
    luck is not enough.

    >>> most_likely([0.0, 7.0] + [0.0] * 11), most_likely([0.0, 8.0] + [0.0] * 11)
    (0, 1)
    """
    changing = likelihood[STEADY + 1 :]
    highest, least = max(changing), likelihood[STEADY] + ODDS
    if highest <= least:  # then the average is, too
        return STEADY
    rest = sum([exp(each - highest) for each in changing]) / len(changing)
    return STEADY + 1 + changing.index(highest) if highest + log(rest) > least else STEADY


class FadedFilters(NamedTuple):
    """What some trials without a pull do to the filters of all candidates, in all contexts."""

    left: Array  # of a deviation
    of_errors: Array  # factors of the errors: of mean and deviation together, of the deviation
    regained: Array  # variance of a deviation


@lru_cache(maxsize=512)
def fading_after(trials: int, contexts: int) -> FadedFilters:
    """Return what a number of trials without a pull does to the filters."""
    left = np.exp(-DECAYS * trials)
    rows = np.array([left, left, left * left, DEVIATIONS * (1.0 - left * left)])
    each = np.repeat(rows[:, :, None], contexts, axis=2)
    return FadedFilters(each[0], each[1:3], each[3])


class _Filter(NamedTuple):
    """The numbers of one arm, as views of the arrays of all arms."""

    errors: Array
    of_mean: Array  # the errors of the mean, then those of mean and deviation together
    of_deviation: Array  # those of mean and deviation together, then of the deviation
    own: Array  # those of the deviation
    levels: Array
    means: Array
    deviations: Array
    squares: Array
    steady: Array  # the squares of the candidate without deviations


class _Workspace(NamedTuple):
    """Room for the numbers between two steps, so that none is made for an observation."""

    off: Array  # how far mean and deviation may be off
    of_mean: Array  # its rows
    of_deviation: Array
    size: Array  # expected square of an error of prediction
    one: Array
    gain: Array  # of the mean
    more: Array  # of the deviation
    left: Array  # of the deviation before
    wrong: Array  # errors of prediction
    squares: Array
    steady: Array  # those of the candidate without deviations
    steps: Array  # changes of the errors
    changes: Array  # of mean and deviation: the first two rows
    first: Array  # its rows
    second: Array
    third: Array
    repeated: Array  # a number for each context


def _workspace(contexts: int) -> _Workspace:
    many = len(CANDIDATES)
    off, steps = np.zeros((2, many, contexts)), np.zeros((3, many, contexts))
    size, gain, more, left, wrong, squares, repeated = np.zeros((7, many, contexts))
    one = np.ones((many, contexts))
    return _Workspace(
        off, off[0], off[1], size, one, gain, more, left, wrong, squares, squares[STEADY],
        steps, steps[:2], steps[0], steps[1], steps[2], repeated,
    )  # fmt: skip


class Drift:
    """What is believed about changes of the arms, and the filters behind it.

    The errors of a filter are the same in all contexts.  They are stored for each of them, since
    numpy takes four times as long where shapes differ.

    Parameters
    ----------
    arms
        How many arms there are.
    contexts
        In how many contexts predictions are compared.

    Examples
    --------
    >>> drift = Drift(arms=1, contexts=1)
    >>> for trial in range(200):
    ...     drift.learn(0, trial, np.array([1.0 if trial % 100 < 50 else 0.0]))
    >>> drift.half_life
    4.0
    """

    def __init__(self, *, arms: int, contexts: int) -> None:
        many = len(CANDIDATES)
        # Covariances of the errors of mean and deviation, in units of the noise: of the mean, of
        # both, of the deviation.
        first = np.array([DEVIATIONS + 1.0, -DEVIATIONS, DEVIATIONS])
        self.errors = np.tile(first[:, :, None], (arms, 1, 1, contexts))
        self.levels = np.zeros((arms, 2, many, contexts))  # means and deviations
        # Sums of squared errors of prediction, each in units of its own expected size.
        self.squares = np.zeros((arms, many, contexts))
        self.pooled = np.zeros(contexts)  # of all arms, if nothing changes
        self.likelihood = np.zeros(many)
        self.latest = [-1] * arms  # the trial of the newest observation; -1 if there is none
        self.compared = [0] * arms  # how many observations were predicted
        self.chosen = STEADY
        self._prepare()

    def _prepare(self) -> None:
        """Make what follows from the numbers above, after some of them were replaced."""
        contexts, arms = len(self.pooled), len(self.latest)
        self._average = np.full(contexts, 1.0 / contexts)
        self._total = sum(self.compared)
        self._filters: list[_Filter | None] = [None] * arms
        # With as many observations of noise, all contexts of an arm are known to vary.
        self._varies_until = [0.0] * arms
        self._workspace = _workspace(contexts)

    def _filter(self, arm: int) -> _Filter:
        errors, levels, squares = self.errors[arm], self.levels[arm], self.squares[arm]
        found = _Filter(
            errors, errors[:2], errors[1:], errors[2],
            levels, levels[0], levels[1], squares, squares[STEADY],
        )  # fmt: skip
        self._filters[arm] = found
        return found

    @property
    def half_life(self) -> float:
        """After how many trials half of a deviation is gone; infinite if there is none."""
        decay = float(DECAYS[self.chosen])
        return float(np.log(2.0)) / decay if decay else float("inf")

    def learn(self, arm: int, trial: int, rewards: Array) -> None:
        """Learn the rewards of one pull in all contexts."""
        before = self.latest[arm]
        self.latest[arm] = trial
        errors, of_mean, of_deviation, own, levels, means, deviations, all_squares, raw = (
            self._filters[arm] or self._filter(arm)
        )
        (
            off, to_mean, to_deviation, size, one, gain, more, left, wrong, squares, steady, steps,
            changes, first, second, third, repeated,
        ) = self._workspace  # fmt: skip
        if before < 0:
            means[...] = rewards
            gain[...], more[...], left[...] = 1.0, 0.0, 0.0
            return
        left[...], of_errors, regained = fading_after(trial - before, len(rewards))
        multiply(of_deviation, of_errors, of_deviation)
        add(own, regained, own)
        add(of_mean, of_deviation, off)
        add(to_mean, to_deviation, size)
        add(size, one, size)
        divide(to_mean, size, gain)
        divide(to_deviation, size, more)
        multiply(gain, to_mean, first)
        multiply(gain, to_deviation, second)
        multiply(more, to_deviation, third)
        subtract(errors, steps, errors)
        multiply(deviations, left, deviations)
        add(means, deviations, wrong)
        repeated[...] = rewards
        subtract(repeated, wrong, wrong)
        multiply(wrong, wrong, squares)
        self._compare(arm, squares, raw, repeated)
        divide(squares, size, squares)
        add(all_squares, squares, all_squares)
        add(self.pooled, steady, self.pooled)
        multiply(gain, wrong, first)
        multiply(more, wrong, second)
        add(levels, changes, levels)
        self.compared[arm] += 1
        self._total += 1

    def gains(self, candidate: int) -> tuple[float, float, float]:
        """Return what the newest observation did to the filter of its arm.

        These are how much the error of prediction changed the mean and the deviation, and what
        was left of the deviation before.
        """
        work = self._workspace
        gain, more, left = (each.item(candidate, 0) for each in (work.gain, work.more, work.left))
        return gain, more, left

    def _compare(self, arm: int, squares: Array, raw: Array, repeated: Array) -> None:
        """Add how well each candidate predicted the mean, as a log-likelihood of Student's t.

        All candidates are measured by the noise that the steady one sees.  If each had its own,
        one could win by guessing the shape of the noise instead of the mean.
        """
        total = self._total
        if total < LEAST_NOISE_COUNT:
            return
        freedom = POOLED + self.compared[arm]
        spread = self.pooled * (POOLED / total)
        add(spread, raw, spread)
        average = self._average
        tells = None
        if freedom >= self._varies_until[arm]:
            tells = spread > LEAST_VARIANCE * freedom
            if tells.all():
                # The squares of an arm never become less.
                self._varies_until[arm], tells = raw.min() / LEAST_VARIANCE, None
        if tells is None:
            repeated[...] = spread
            divide(squares, repeated, repeated)
        elif tells.any():
            # In a context where nothing varies there is nothing to predict.
            repeated = squares[:, tells] / spread[tells]
            average = np.full(repeated.shape[1], 1.0 / repeated.shape[1])
        else:
            return
        unlikely = log1p(repeated, repeated).dot(average)
        unlikely *= 0.5 * (freedom + 1.0)
        likelihood = self.likelihood
        subtract(likelihood, unlikely, likelihood)
        self.chosen = most_likely(likelihood.tolist())

    def fading(self, trial: int) -> tuple[Array, Array]:
        """Return what is left of each arm's deviation at a trial, and the variance of its mean.

        The variance is in units of the noise, under the chosen candidate.
        """
        q = self.chosen
        decay, deviation = DECAYS[q], DEVIATIONS[q]
        left = np.exp(decay * (np.array(self.latest) - trial))
        of_mean, of_both, of_deviation = self.errors[:, :, q, 0].T
        spread = of_mean + 2.0 * left * of_both
        return left, spread + left * left * (of_deviation - deviation) + deviation

    def unexplained(self) -> Array:
        """Return what share of each arm's variance is noise, by the chosen candidate."""
        if self.chosen == STEADY:
            return np.ones(len(self.latest))
        raw, left = self.squares[:, STEADY], self.squares[:, self.chosen]
        shares = left / np.maximum(raw, LEAST_VARIANCE)
        shares[raw <= LEAST_VARIANCE] = 1.0
        return np.asarray(np.minimum(shares.dot(self._average), 1.0))

    # Arms, copies and files

    def rescale(self, factor: float) -> None:
        """Take rewards in another unit from now on."""
        with np.errstate(over="ignore", invalid="ignore"):
            for array in (self.levels, self.squares, self.squares, self.pooled, self.pooled):
                np.multiply(array, factor, out=array)
        for array in (self.levels, self.squares, self.pooled):
            np.nan_to_num(array, copy=False, posinf=LARGEST_LEVEL, neginf=-LARGEST_LEVEL)
            np.clip(array, -LARGEST_LEVEL, LARGEST_LEVEL, out=array)
        self._prepare()

    def believe(self, other: Drift) -> None:
        """Take over what was believed about change, but no more than new evidence can overcome."""
        before = other.likelihood - other.likelihood[other.chosen]
        self.likelihood += np.clip(before, -CARRIED, CARRIED)
        self.chosen = most_likely(self.likelihood.tolist())

    def revalue(self, factors: Array, shifts: Array) -> None:
        """Take the rewards of each arm as a factor times what they were, plus a number each."""
        squares = factors[:, None] ** 2
        more = ((squares - 1.0) * self.squares[:, STEADY]).sum(axis=0)
        self.pooled = np.maximum(self.pooled + more, 0.0)
        self.levels *= factors[:, None, None, None]
        self.levels[:, 0] += shifts[:, None]
        self.squares *= squares[:, None]
        self._prepare()

    def add_arms(self, added: int) -> None:
        """Add arms that were never observed."""
        fresh = Drift(arms=added, contexts=len(self.pooled))
        for name in OF_ARMS:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(fresh, name)]))
        self.latest += fresh.latest
        self.compared += fresh.compared
        self._prepare()

    def remove_arms(self, removed: Sequence[int]) -> None:
        """Remove arms; what they showed about noise and change stays."""
        for name in OF_ARMS:
            setattr(self, name, np.delete(getattr(self, name), removed, axis=0))
        for arm in sorted(removed, reverse=True):
            del self.latest[arm], self.compared[arm]
        self._prepare()

    def copy(self) -> Drift:
        """Return an independent copy."""
        twin = object.__new__(Drift)
        twin.__dict__.update(self.__dict__)
        for name in ARRAYS:
            setattr(twin, name, getattr(self, name).copy())
        twin.latest, twin.compared = list(self.latest), list(self.compared)
        twin._prepare()
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Drift:
        """Return an independent copy, whose views are of its own arrays."""
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: no views, which would become arrays of their own."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, and make the views."""
        self.__dict__.update(state)
        self._prepare()

    def state(self) -> Any:
        """Return everything learned as plain values."""
        of_mean, of_both, of_deviation = np.moveaxis(self.errors[..., 0], 1, 0)
        errors = np.array([[of_mean, of_both], [of_both, of_deviation]])
        return DriftState(
            errors=np.moveaxis(errors, 2, 0).tolist(),
            **{name: getattr(self, name).tolist() for name in ARRAYS[1:]},
            latest=self.latest,
            compared=self.compared,
            chosen=self.chosen,
        )

    def restore(self, saved: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        told = restored(DriftState, saved, "numbers of the drift")
        arms, contexts = len(self.latest), len(self.pooled)
        shapes = {name: getattr(self, name).shape for name in ARRAYS}
        read: dict[str, Array] = {}
        for name, shape in {**shapes, "errors": (arms, 2, 2, len(CANDIDATES))}.items():
            try:
                read[name] = np.array(getattr(told, name), dtype=np.float64)
            except ValueError:
                read[name] = np.zeros(0)
            if read[name].shape != shape or not np.isfinite(read[name]).all():
                raise SaveFileError(f"the saved {name} of the drift have a wrong size or value")
        alike = len(told.latest) == len(told.compared) == len(self.latest)
        if not alike or not 0 <= told.chosen < len(CANDIDATES):
            raise SaveFileError("the saved drift has a wrong number of arms or candidates")
        if min(read["squares"].min(), read["pooled"].min(), read["errors"][:, 0, 0].min()) < 0.0:
            raise SaveFileError("a saved variance of the drift is below 0")
        errors = read["errors"][:, (0, 0, 1), (0, 1, 1)]
        read["errors"] = np.repeat(errors[..., None], contexts, axis=-1)
        self.__dict__.update(read)
        self.latest, self.compared, self.chosen = told.latest, told.compared, told.chosen
        self._prepare()


OF_ARMS = ("errors", "levels", "squares")
ARRAYS = (*OF_ARMS, "pooled", "likelihood")


class DriftState(msgspec.Struct, forbid_unknown_fields=True):
    """What a save file holds of the drift."""

    errors: Sequence[Sequence[Sequence[Sequence[float]]]]
    levels: Sequence[Sequence[Sequence[Sequence[float]]]]
    squares: Sequence[Sequence[Sequence[float]]]
    pooled: Sequence[float]
    likelihood: Sequence[float]
    latest: list[int]
    compared: list[Count]
    chosen: int
