"""The sums of a regression of rewards on the shapes that they can have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self, TypeAlias

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import restored
from onepull.errors import MergeError, ParameterError, SaveFileError
from onepull.payoff import State
from onepull.policies.hidden_states.shapes import Basis, Shapes
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import rewarded_context
from onepull.problem import Problem
from onepull.statistics import ArmStatistics, StatisticsState, unanswered

PRIOR = 1.0  # what all arms together have shown counts as so many observations of each arm
FAINT = 1e-3  # the same for what is assumed before anything was observed: the reference state
LARGEST = 1e75  # of a scaled reward, so that no square overflows


class Fit(NamedTuple):
    """The weights of every arm, and a factor of their covariance: the inverse of λI + A."""

    weights: Array
    inverses: Array


class View(NamedTuple):
    """A context as the regression sees it, with a row or a number for each arm."""

    means: Array
    variances: Array  # of the noise
    shares: Array  # of the noise that is left in the mean: 1/m after m pulls here
    scales: Array
    offsets: Array


class RegressionSums(Knowledge):
    """A = Σ x xᵀ, b = Σ r x and squared errors, of each arm and of all together.

    The weights of an arm are (λI + A)⁻¹(b + λw), where w are the weights of all arms together.  So
    an arm with few pulls is estimated from the others.  What an arm has shown stays in the common
    sums after it was removed.

    Noise depends on the context: a link that serves all small requests in full shows none there.
    So the squared errors of predictions are kept as E = Σ e² x xᵀ, and the variance in a context is
    xᵀEx / xᵀAx: an average of squared errors in which similar contexts count most.  It is the
    larger of two such averages.  With the errors of all arms alone, a quiet arm that is pulled
    often would hide the noise of another.  With an arm's own errors alone, one that was tried only
    where it is quiet would seem well known everywhere.  In an arm's own average that of all arms
    counts as one observation.

    Attributes
    ----------
    shapes
        The features of a context.
    in_flight
        The pulls of each arm that are not observed yet; they are neither saved nor merged.
    """

    counts_in_flight = True
    adds_up = False  # the error of a prediction depends on what was observed before

    def __init__(self, problem: Problem, shapes: Shapes | None = None) -> None:
        self.problem = problem
        self.shapes = shapes or Shapes(problem)
        size, arms = self.shapes.size, len(problem.arms)
        self.counts = ArmStatistics.empty(arms=arms, features=0)
        self.in_flight = [0] * arms
        self.grams = np.zeros((arms, size, size))
        self.moments = np.zeros((arms, size))
        self.gram, self.moment = np.zeros((size, size)), np.zeros(size)
        self.arm_errors, self.errors = np.zeros_like(self.grams), np.zeros((size, size))
        self._forget_fit()

    def _forget_fit(self) -> None:
        self._inverses = np.zeros_like(self.grams)
        self._stale = set(range(len(self.grams)))
        self._fit: Fit | None = None

    def fit(self) -> Fit:
        """Return the weights of every arm, from the sums alone."""
        if self._fit is None:
            one = np.eye(self.shapes.size)
            for arm in self._stale:
                self._inverses[arm] = np.linalg.inv(self.grams[arm] + PRIOR * one)
            self._stale.clear()
            common = np.linalg.solve(self.gram + FAINT * one, self.moment)
            targets = self.moments + PRIOR * common
            self._fit = Fit(np.matmul(self._inverses, targets[:, :, None])[:, :, 0], self._inverses)
        return self._fit

    def look(self, context: State) -> View:
        """Return what is known in a context."""
        weights, inverses = self.fit()
        rows, scales, offsets = self.shapes.at(context)
        means = (weights * rows).sum(axis=1)
        shares = np.maximum(_forms(rows, inverses), 0.0)
        if any(self.in_flight):  # each counts as if it were in this context
            shares /= 1.0 + shares * self.in_flight
        seen, wrong = _forms(rows, self.gram), _forms(rows, self.errors)
        share = PRIOR / max(float(np.trace(self.gram)), 1.0)  # of all that counts for each arm
        own_seen = _forms(rows, self.grams) + share * seen
        own_wrong = _forms(rows, self.arm_errors) + share * wrong
        variances = np.maximum(_ratios(wrong, seen), _ratios(own_wrong, own_seen))
        return View(means, variances, shares, scales, offsets)

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one reward in its context."""
        context, value = rewarded_context(self.problem, arm, fields, reward)
        rows, scales, offsets = self.shapes.at(context)
        place = arm if len(rows) > 1 else 0
        row = rows[place]
        scaled = float((value - offsets[place]) / scales[place])
        scaled = min(max(scaled, -LARGEST), LARGEST)
        weights, inverses = self.fit()
        error = scaled - float(weights[arm] @ row)
        square = row[:, None] * row
        # The error of a prediction is larger than the noise, by the error of the mean.
        wrong = square * (error * error / (1.0 + float(row @ inverses[arm] @ row)))
        self.arm_errors[arm] += wrong
        self.errors += wrong
        self.grams[arm] += square
        self.moments[arm] += row * scaled
        self.gram += square
        self.moment += row * scaled
        self.counts.update(arm, ())
        self.in_flight[arm] = max(self.in_flight[arm] - 1, 0)
        self._stale.add(arm)
        self._fit = None

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, whatever their context."""
        super().expect(arm, fields, pulls)
        self.in_flight[arm] = max(self.in_flight[arm] + pulls, 0)

    def take_local(self, old: Self) -> None:
        """Take over the pulls in flight."""
        self.in_flight = list(old.in_flight)

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm, which are the same in every context, and the trials."""
        del context
        pulls = [m + more for m, more in zip(self.counts.pulls, self.in_flight, strict=True)]
        return pulls, self.counts.trials + sum(self.in_flight)

    def unanswered(self, context: Mapping[str, Any]) -> Collection[int]:
        """Return the arms with pulls in flight and no observation."""
        del context
        pulls = self.counts.pulls
        return {j for j, m in enumerate(pulls) if unanswered(m, self.in_flight[j])}

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self.counts.trials

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        basis = self.shapes.basis
        fixed = basis.states.size + basis.mix.size + 1
        arms = self.grams.size + self.arm_errors.size + self.moments.size
        everything = self.gram.size + self.errors.size + self.moment.size
        return fixed + arms + everything + self.counts.storage

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Change to a problem with one more arm at the end, or with one arm removed."""
        if removed is None:
            self.add_arms(problem)
            return
        self.shapes = self.shapes.on(problem)
        self.problem = problem
        self.counts.remove_arm(removed)
        del self.in_flight[removed]
        self.grams = np.delete(self.grams, removed, axis=0)
        self.arm_errors = np.delete(self.arm_errors, removed, axis=0)
        self.moments = np.delete(self.moments, removed, axis=0)
        self._forget_fit()

    def add_arms(self, problem: Problem) -> None:
        """Change to a problem with more arms at the end; changes nothing if it raises.

        The attributes of a new arm may give it shapes that the features cannot express.  New
        features can be taken only before something was learned with the old ones.
        """
        shapes = self.shapes.widened(problem)
        if shapes.basis is not self.shapes.basis:
            if self.gram.any():
                raise ParameterError(
                    "the attributes of the new arms make their rewards depend on the context in a "
                    "way that no other arm's do, and what was learned cannot be carried over; make "
                    "a new policy from the problem with these arms"
                )
            size = shapes.size
            self.gram, self.errors = np.zeros((size, size)), np.zeros((size, size))
            self.moment = np.zeros(size)
            self.grams = np.zeros((len(self.grams), size, size))
            self.arm_errors = np.zeros_like(self.grams)
            self.moments = np.zeros((len(self.grams), size))
        added = len(problem.arms) - len(self.problem.arms)
        self.shapes, self.problem = shapes, problem
        for _ in range(added):
            self.counts.add_arm()
        self.in_flight += [0] * added
        more = np.zeros((added, shapes.size, shapes.size))
        self.grams = np.concatenate([self.grams, more])
        self.arm_errors = np.concatenate([self.arm_errors, more])
        self.moments = np.concatenate([self.moments, more[:, 0]])
        self._forget_fit()

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        ours, theirs = self.shapes.basis, other.shapes.basis
        if not (
            np.array_equal(ours.states, theirs.states)
            and np.array_equal(ours.mix, theirs.mix)
            and ours.unit == theirs.unit
        ):
            raise MergeError(
                "the two policies describe rewards by different shapes, since they were made for "
                "different arms; make both from the same problem"
            )
        self.grams += other.grams[list(arms)]
        self.moments += other.moments[list(arms)]
        self.arm_errors += other.arm_errors[list(arms)]
        self.gram += other.gram
        self.moment += other.moment
        self.errors += other.errors
        self.counts.merge(other.counts, arms)
        self._forget_fit()

    def state(self) -> Any:
        """Return everything learned as plain values, with the shapes that it is about."""
        states, mix, unit = self.shapes.basis
        return _Saved(
            self.counts.state(),
            states.tolist(),
            mix.tolist(),
            unit,
            self.grams.tolist(),
            self.moments.tolist(),
            self.arm_errors.tolist(),
            self.gram.tolist(),
            self.moment.tolist(),
            self.errors.tolist(),
        )

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises `SaveFileError` if it is invalid."""
        saved = restored(_Saved, state, "regression")
        try:
            states, mix = np.array(saved.states), np.array(saved.mix)
            grams, moments = np.array(saved.grams), np.array(saved.moments)
            arm_errors, errors = np.array(saved.arm_errors), np.array(saved.errors)
            gram, moment = np.array(saved.gram), np.array(saved.moment)
        except ValueError as error:  # rows of different lengths
            raise SaveFileError(f"the saved regression is invalid: {error}") from None
        size = mix.shape[-1]
        arms = len(self.problem.arms)
        expected = [
            (states, (len(mix) + 1, len(self.problem.shown))),
            (mix, (len(mix), size)),
            (errors, (size, size)),
            (grams, (arms, size, size)),
            (moments, (arms, size)),
            (arm_errors, (arms, size, size)),
            (gram, (size, size)),
            (moment, (size,)),
        ]
        if not size or any(found.shape != shape for found, shape in expected):
            raise SaveFileError("the parts of the saved regression do not fit together")
        shapes = Shapes(self.problem, Basis(states, mix, saved.unit))
        if not shapes.are_possible():
            raise SaveFileError("the saved shapes are impossible for this problem")
        for matrix in (*grams, gram, *arm_errors, errors):
            close = 1e-9 * max(1.0, float(np.max(np.abs(matrix))))
            if not np.array_equal(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < -close:
                raise SaveFileError("a saved matrix is not symmetric and positive semidefinite")
        counts = self.counts.copy()
        counts.restore(saved.counts)
        # Features have length one, or zero where states make no difference.
        lengths = np.append(np.trace(grams, axis1=1, axis2=2), np.trace(gram))
        largest = float(max(np.abs(moments).max(), np.abs(moment).max()))
        many = np.append(counts.pulls, counts.trials) * (1.0 + 1e-6)
        if np.any(lengths > many) or largest > LARGEST * many[-1]:
            raise SaveFileError("the saved sums are impossible for the saved number of pulls")
        self.counts = counts
        self.shapes = shapes
        self.grams, self.moments, self.arm_errors = grams, moments, arm_errors
        self.gram, self.moment, self.errors = gram, moment, errors
        self._forget_fit()

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.counts, twin.in_flight = self.counts.copy(), list(self.in_flight)
        twin.grams, twin.moments = self.grams.copy(), self.moments.copy()
        twin.gram, twin.moment = self.gram.copy(), self.moment.copy()
        twin.arm_errors, twin.errors = self.arm_errors.copy(), self.errors.copy()
        twin._forget_fit()
        return twin


_Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
_Unit: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, le=1e308)]
_Matrix: TypeAlias = list[list[_Number]]


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    counts: StatisticsState
    states: _Matrix
    mix: _Matrix
    unit: _Unit
    grams: list[_Matrix]
    moments: _Matrix
    arm_errors: list[_Matrix]
    gram: _Matrix
    moment: list[_Number]
    errors: _Matrix


def _forms(rows: Array, matrices: Array) -> Array:
    """Return xᵀMx for every row, of one matrix for all or of one for each."""
    turned = np.matmul(rows[:, None, :], matrices)
    found: Array = np.matmul(turned, rows[:, :, None])[:, 0, 0]
    return found


def _ratios(wrong: Array, seen: Array) -> Array:
    """Return the averages of squared errors, or zero where nothing was seen."""
    found = np.divide(wrong, seen, out=np.zeros_like(wrong), where=seen > 0.0)
    return np.maximum(found, 0.0)
