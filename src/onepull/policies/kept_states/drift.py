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
HALF_LIVES = (4.0, 16.0, 64.0, 256.0, 1024.0)
VARIANCES = (0.3, 3.0)
CANDIDATES = np.array([(0.0, 0.0), *((np.log(2.0) / h, v) for h in HALF_LIVES for v in VARIANCES)])
DECAYS, DEVIATIONS = CANDIDATES.T.copy()
STEADY = 0  # the candidate without deviations
ODDS = 3.0  # logarithm of the prior odds of no change
POOLED = 2.0  # how many observations what other arms show about noise counts for
FEW = 3  # observations of noise before candidates are compared
TINY = 1e-30
LARGEST = 1e200  # level or square after the unit of rewards has changed


def most_likely(likelihood: Sequence[float]) -> int:
    """Return the candidate to go by: no change, unless change is more likely.

    Change is as likely as its candidates are on average, so a single one that predicted well by
    luck is not enough.

    >>> most_likely([0.0, 5.0] + [0.0] * 9), most_likely([0.0, 6.0] + [0.0] * 9)
    (0, 1)
    """
    changing = likelihood[STEADY + 1 :]
    highest, least = max(changing), likelihood[STEADY] + ODDS
    if highest <= least:  # then the average is, too
        return STEADY
    rest = sum([exp(each - highest) for each in changing]) / len(changing)
    return STEADY + 1 + changing.index(highest) if highest + log(rest) > least else STEADY


class Fading(NamedTuple):
    """What some trials without a pull do to the filters of all candidates."""

    left: Array  # of a deviation
    of_errors: Array  # factors of the covariances
    regained: Array  # variance of a deviation
    of_levels: Array  # factors of means and deviations


@lru_cache(maxsize=1024)
def fading_after(trials: int) -> Fading:
    """Return what a number of trials without a pull does to the filters."""
    left = np.exp(-DECAYS * trials)
    ones = np.ones(len(DECAYS))
    return Fading(
        left,
        np.array([[ones, left], [left, left * left]]),
        DEVIATIONS * (1.0 - left * left),
        np.array([ones, left])[:, :, None],
    )


class Drift:
    """What is believed about changes of the arms, and the filters behind it.

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
    ...     _ = drift.learn(0, trial, np.array([1.0 if trial % 100 < 50 else 0.0]))
    >>> drift.half_life
    4.0
    """

    def __init__(self, *, arms: int, contexts: int) -> None:
        many = len(CANDIDATES)
        # Covariances of the errors of mean and deviation, in units of the noise.
        first = np.array([[DEVIATIONS + 1.0, -DEVIATIONS], [-DEVIATIONS, DEVIATIONS]])
        self.errors = np.tile(first, (arms, 1, 1, 1))
        self.levels = np.zeros((arms, 2, many, contexts))  # means and deviations
        # Sums of squared errors of prediction, each in units of its own expected size.
        self.squares = np.zeros((arms, many, contexts))
        self.pooled = np.zeros(contexts)  # of all arms, if nothing changes
        self.likelihood = np.zeros(many)
        self.latest = [-1] * arms  # the trial of the newest observation; -1 if there is none
        self.compared = [0] * arms  # how many observations were predicted
        self.chosen = STEADY
        self._average = np.full(contexts, 1.0 / contexts)

    @property
    def half_life(self) -> float:
        """After how many trials half of a deviation is gone; infinite if there is none."""
        decay = float(DECAYS[self.chosen])
        return float(np.log(2.0)) / decay if decay else float("inf")

    def learn(self, arm: int, trial: int, rewards: Array) -> tuple[Array, Array]:
        """Learn the rewards of one pull in all contexts; return the gains and the fading.

        The gains say how much the error of prediction changes the mean and the deviation.  The
        fading is what is left of the deviation since the newest observation of the arm.
        """
        before = self.latest[arm]
        self.latest[arm] = trial
        if before < 0:
            self.levels[arm, 0] = rewards
            return FIRST_GAINS, NOTHING_LEFT
        left, of_errors, regained, of_levels = fading_after(trial - before)
        errors, levels = self.errors[arm], self.levels[arm]
        errors *= of_errors
        errors[1, 1] += regained
        off = errors[0] + errors[1]
        size = off[0] + off[1]
        size += 1.0
        gains = off / size
        errors -= gains[:, None] * off
        levels *= of_levels
        wrong = rewards - levels[0]
        wrong -= levels[1]
        squares = wrong * wrong
        self._compare(arm, squares)
        squares /= size[:, None]
        self.squares[arm] += squares
        self.pooled += squares[STEADY]
        levels += gains[:, :, None] * wrong
        self.compared[arm] += 1
        return gains, left

    def _compare(self, arm: int, squares: Array) -> None:
        """Add how well each candidate predicted the mean, as a log-likelihood of Student's t.

        All candidates are measured by the noise that the steady one sees.  If each had its own,
        one could win by guessing the shape of the noise instead of the mean.
        """
        total = sum(self.compared)
        if total < FEW:
            return
        freedom = POOLED + self.compared[arm]
        spread = self.pooled * (POOLED / total)
        spread += self.squares[arm, STEADY]
        average = self._average
        if not np.minimum.reduce(spread) > TINY * freedom:
            # In a context where nothing varies there is nothing to predict.
            tells = spread > TINY * freedom
            if not tells.any():
                return
            spread, squares = spread[tells], squares[:, tells]
            average = np.full(len(spread), 1.0 / len(spread))
        unlikely = np.log1p(squares / spread).dot(average)
        unlikely *= 0.5 * (freedom + 1.0)
        self.likelihood -= unlikely
        self.chosen = most_likely(self.likelihood.tolist())

    def fading(self, trial: int) -> tuple[Array, Array]:
        """Return what is left of each arm's deviation at a trial, and the variance of its mean.

        The variance is in units of the noise, under the chosen candidate.
        """
        q = self.chosen
        decay, deviation = DECAYS[q], DEVIATIONS[q]
        left = np.exp(decay * (np.array(self.latest) - trial))
        errors = self.errors[..., q]
        spread = errors[:, 0, 0] + 2.0 * left * errors[:, 0, 1]
        return left, spread + left * left * (errors[:, 1, 1] - deviation) + deviation

    def unexplained(self) -> Array:
        """Return what share of each arm's variance is noise, by the chosen candidate."""
        if self.chosen == STEADY:
            return np.ones(len(self.latest))
        raw, left = self.squares[:, STEADY], self.squares[:, self.chosen]
        shares = np.where(raw > TINY, left / np.maximum(raw, TINY), 1.0)
        return np.asarray(np.minimum(shares.mean(axis=1), 1.0))

    # Arms, copies and files

    def rescale(self, factor: float) -> None:
        """Take rewards in another unit from now on."""
        with np.errstate(over="ignore", invalid="ignore"):
            for array in (self.levels, self.squares, self.squares, self.pooled, self.pooled):
                np.multiply(array, factor, out=array)
        for array in (self.levels, self.squares, self.pooled):
            np.nan_to_num(array, copy=False, posinf=LARGEST, neginf=-LARGEST)
            np.clip(array, -LARGEST, LARGEST, out=array)

    def add_arm(self) -> None:
        """Add an arm that was never observed."""
        fresh = Drift(arms=1, contexts=len(self.pooled))
        for name in ARRAYS:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(fresh, name)]))
        self.latest.append(-1)
        self.compared.append(0)

    def remove_arm(self, arm: int) -> None:
        """Remove an arm; what it showed about noise and change stays."""
        for name in ARRAYS:
            setattr(self, name, np.delete(getattr(self, name), arm, axis=0))
        del self.latest[arm], self.compared[arm]

    def copy(self) -> Drift:
        """Return an independent copy."""
        twin = object.__new__(Drift)
        twin.__dict__.update(self.__dict__)
        for name in (*ARRAYS, "pooled", "likelihood"):
            setattr(twin, name, getattr(self, name).copy())
        twin.latest, twin.compared = list(self.latest), list(self.compared)
        return twin

    def state(self) -> Any:
        """Return everything learned as plain values."""
        arrays = {name: getattr(self, name).tolist() for name in (*ARRAYS, "pooled", "likelihood")}
        return DriftState(**arrays, latest=self.latest, compared=self.compared, chosen=self.chosen)

    def restore(self, saved: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        told = restored(DriftState, saved, "numbers of the drift")
        for name in (*ARRAYS, "pooled", "likelihood"):
            own = getattr(self, name)
            try:
                read = np.array(getattr(told, name), dtype=np.float64)
            except ValueError:
                read = np.zeros(0)
            if read.shape != own.shape or not np.isfinite(read).all():
                raise SaveFileError(f"the saved {name} of the drift have a wrong size or value")
            setattr(self, name, read)
        alike = len(told.latest) == len(told.compared) == len(self.latest)
        if not alike or not 0 <= told.chosen < len(CANDIDATES):
            raise SaveFileError("the saved drift has a wrong number of arms or candidates")
        if min(self.squares.min(), self.pooled.min(), self.errors[:, 0, 0].min()) < 0.0:
            raise SaveFileError("a saved variance of the drift is below 0")
        self.latest, self.compared, self.chosen = told.latest, told.compared, told.chosen


ARRAYS = ("errors", "levels", "squares")
FIRST_GAINS = np.array([np.ones(len(DECAYS)), np.zeros(len(DECAYS))])
NOTHING_LEFT = np.zeros(len(DECAYS))


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
