"""Linear models of the reward, and what the policies that use them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Self, TypeAlias

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import restored
from onepull.errors import ParameterError, SaveFileError
from onepull.policies.linear.features import FeatureMap
from onepull.policies.linear.ridge import Solution
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import rewarded_context
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import UNPULLED, ArmStatistics, StatisticsState

Solver: TypeAlias = Callable[[Array, Array], Solution]

MOST_SQUARE = 1e120  # of a feature
MOST_NUMBERS = 2**24  # in all matrices


def along(rows: Array, thetas: Array) -> Array:
    """Return θᵀx of every arm; features and θ are one row for all arms, or a row for each arm.

    Each arm has a product of its own, so its rounding does not depend on the number of arms.
    Compiled code computes the same products in loops; numpy may add their terms in another order,
    so the two agree to rounding.
    """
    products: Array = np.matmul(rows[:, None, :], thetas[:, :, None])[:, 0, 0]
    return products


def lengths(rows: Array, roots: Array) -> Array:
    """Return the length of Rx of every arm; rows and roots are given as for `along`."""
    turned = np.matmul(roots, rows[:, :, None])[:, :, 0]
    return np.sqrt(along(turned, turned))


class LinearModel(Knowledge):
    """The sums A = Σ x xᵀ and b = Σ r x: one pair for each arm, or one that all arms share.

    Rewards are scaled to [0, 1] by the range of the reward over all contexts and states.
    A model is solved at the first decision after it has changed.

    Parameters
    ----------
    features
        The features of a context, and whether all arms share one parameter vector.
    solve
        Returns the solution of one model, given its A and b.
    """

    in_units_of_range = True

    def __init__(self, problem: Problem, features: FeatureMap, solve: Solver) -> None:
        self.problem = problem
        self.features = features
        self.solve = solve
        self.low, high = problem.payoff.whole_range
        self.range = high - self.low or 1.0
        self.counts = ArmStatistics.empty(arms=len(problem.arms), features=0)
        models = 1 if features.is_shared else len(problem.arms)
        if models * features.size**2 > MOST_NUMBERS:
            raise ParameterError(
                f"{features.size:,} features take {models * features.size**2:,} numbers, more than "
                f"the {MOST_NUMBERS:,} allowed; give fewer features"
            )
        self.grams = np.zeros((models, features.size, features.size))
        self.moments = np.zeros((models, features.size))
        self._forget_solutions()

    def _forget_solutions(self) -> None:
        size, models = self.features.size, len(self.grams)
        empty = self.solve(np.zeros((size, size)), np.zeros(size))
        self._solutions = tuple(np.repeat(part[None], models, axis=0) for part in empty)
        self._stale = set(range(models))

    def look(self, context: Mapping[str, Any]) -> tuple[Array, Solution]:
        """Return a context's features as rows, and the solutions of all models."""
        rows = self.features.rows(self.problem.context.exactly(context))
        # Solved from the sums alone, so that a loaded policy continues bit for bit.
        for model in self._stale:
            solution = self.solve(self.grams[model], self.moments[model])
            for whole, part in zip(self._solutions, solution, strict=True):
                whole[model] = part
        self._stale.clear()
        return rows, self._solutions

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one reward in its context."""
        context, value = rewarded_context(self.problem, arm, fields, reward)
        row = self.features.row(context, arm)
        model = 0 if self.features.is_shared else arm
        self.grams[model] += row[:, None] * row
        self.moments[model] += row * ((value - self.low) / self.range)
        self.counts.update(arm, ())
        self._stale.add(model)

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm, which are the same in every context, and the trials."""
        del context
        return self.counts.pulls, self.counts.trials

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self.counts.trials

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return self.grams.size + self.moments.size + self.counts.storage

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Change to a problem with one more arm at the end, or with one arm removed.

        A shared model keeps the observations of a removed arm.
        """
        self.features = self.features.with_arms(problem.arms)
        self.problem = problem
        if removed is None:
            self.counts.add_arm()
        else:
            self.counts.remove_arm(removed)
        if self.features.is_shared:
            return
        if removed is None:
            self.grams = np.append(self.grams, np.zeros_like(self.grams[:1]), axis=0)
            self.moments = np.append(self.moments, np.zeros_like(self.moments[:1]), axis=0)
        else:
            self.grams = np.delete(self.grams, removed, axis=0)
            self.moments = np.delete(self.moments, removed, axis=0)
        self._forget_solutions()

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        theirs = [0] if self.features.is_shared else list(arms)
        self.grams += other.grams[theirs]
        self.moments += other.moments[theirs]
        self.counts.merge(other.counts, arms)
        self._forget_solutions()

    def state(self) -> Any:
        """Return everything learned as plain values."""
        return _Sums(self.counts.state(), self.grams.tolist(), self.moments.tolist())

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises `SaveFileError` if it is invalid."""
        saved = restored(_Sums, state, "sums")
        try:
            grams, moments = np.array(saved.grams), np.array(saved.moments)
        except ValueError as error:  # rows of different lengths
            raise SaveFileError(f"invalid saved sums: {error}") from None
        if grams.shape != self.grams.shape or moments.shape != self.moments.shape:
            raise SaveFileError(
                f"the saved sums have shapes {grams.shape} and {moments.shape}; "
                f"expected {self.grams.shape} and {self.moments.shape}"
            )
        slack = 1e-9 * max(1.0, float(np.max(np.abs(grams))))
        if not np.array_equal(grams, grams.swapaxes(1, 2)) or np.any(
            np.linalg.eigvalsh(grams) < -slack
        ):
            raise SaveFileError("a saved Gram matrix is not symmetric and positive semidefinite")
        self.counts.restore(saved.counts)
        # Rewards are in [0, 1], so (Σ r x)² <= m Σ x² after m pulls.
        pulls = [self.counts.trials] if self.features.is_shared else self.counts.pulls
        squares = np.diagonal(grams, axis1=1, axis2=2)
        most = np.array(pulls, np.float64)[:, None]
        if np.any(moments**2 > most * squares * (1 + 1e-6)) or np.any(squares > most * MOST_SQUARE):
            raise SaveFileError("the saved sums are impossible for the saved number of pulls")
        self.grams, self.moments = grams, moments
        self._forget_solutions()

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.counts = self.counts.copy()
        twin.grams, twin.moments = self.grams.copy(), self.moments.copy()
        twin._forget_solutions()
        return twin


_Sum: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e150, le=1e150)]


class _Sums(msgspec.Struct, forbid_unknown_fields=True):
    counts: StatisticsState
    grams: list[list[list[_Sum]]]
    moments: list[list[_Sum]]


class LinearPolicy(Policy):
    """The base of all policies on linear models.

    An arm that was never pulled comes first, even where the arms share a model.
    """

    traits = Traits(extrapolates=True)

    _knowledge: LinearModel

    def __init__(
        self,
        problem: Problem,
        features: FeatureMap,
        solve: Solver,
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(LinearModel(problem, features, solve), seed=seed)

    @property
    def model(self) -> LinearModel:
        """The linear models, and what they have learned."""
        return self._knowledge

    @property
    def features(self) -> Any:
        """The features as they were given; None if they were not."""
        return self._knowledge.features.given

    def _written(self) -> dict[str, Any]:
        if callable(self.features):
            raise ParameterError(
                "features given as a Python callable cannot be written to a file; "
                "give them as formulas, or keep the policy in memory"
            )
        return self.parameters

    @abstractmethod
    def _scores(self, rows: Array, solution: Solution) -> Array:
        """Return the index of every arm for rewards in [0, 1]."""

    def _look(self, context: Mapping[str, Any]) -> tuple[Array, Solution]:
        return self._knowledge.look(context)

    def _indices(self, request: Request) -> Array:
        return self._in_rewards(self._scores(*request.view))

    def _leader(self, request: Request) -> int:
        if request.allowed is self._everyone:
            return int(self._indices(request).argmax())
        return super()._leader(request)

    def _estimates(self, request: Request) -> Sequence[float | None]:
        rows, (thetas, *_) = request.view
        estimates: list[float | None] = self._in_rewards(along(rows, thetas)).tolist()
        return estimates

    def _in_rewards(self, scores: Array) -> Array:
        """Return scores in the unit of the reward, infinite for arms never pulled."""
        model = self._knowledge
        indices = model.low + model.range * scores
        if 0 in model.counts.pulls:
            indices[np.array(model.counts.pulls) == 0] = UNPULLED
        return indices
