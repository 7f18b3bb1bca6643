"""PatientKL: exploring in the context where it costs least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import constant, restored, whole_number
from onepull.errors import SaveFileError
from onepull.factor import Cells, partition
from onepull.index.empirical_kl import empirical_kl
from onepull.index.empirical_likelihood import exploration, rounding
from onepull.index.patient_kl import patient_leader
from onepull.policies.request import Request
from onepull.policies.sharing.inherited import (
    cells_of,
    check_cells,
    features_inherited,
    with_features,
)
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.states.state_policy import KeepsStates, states_of
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import UNPULLED

NEVER_CAME = -(10**12)  # the last trial of a context that has not occurred


class ContextRecency(Joint):
    """Joint learning that remembers when each context last occurred.

    A context counts if it is given with an observation.
    """

    counts_in_flight = False

    def __init__(self, factor: Any, cells: Cells) -> None:
        super().__init__(factor)
        self.cells = cells
        self.came = [NEVER_CAME] * cells.features

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Ignore pulls in flight: which arm is due depends on observations alone."""
        Knowledge.expect(self, arm, fields, pulls)

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Add one observation, and its context if given."""
        told = self.problem.context.among(fields)
        cell = self.cells.locate(told) if self.problem.context.are_complete(told) else None
        super().learn(arm, fields, reward)
        if cell is not None:
            self.came[cell] = self.statistics.trials

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        told = self.problem.context.among(fields)
        if self.problem.context.are_complete(told):
            self.cells.locate(told)
        super().check(arm, fields, reward)

    def take_local(self, old: Self) -> None:
        """Take over how long ago each context occurred: requests are those of this process."""
        later = self.statistics.trials - old.statistics.trials
        self.came = [NEVER_CAME if trial == NEVER_CAME else trial + later for trial in old.came]

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return super().storage + len(self.came)

    def storage_after(self, trials: int) -> int:
        """Return the number of numbers kept after so many trials."""
        return super().storage_after(trials) + len(self.came)

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        # The trials of the other policy count as the latest ones here.
        later = self.statistics.trials
        super().merge(other, arms)
        self.came = [
            mine if theirs == NEVER_CAME else theirs + later
            for mine, theirs in zip(self.came, other.came, strict=True)
        ]

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces."""
        check_cells(self.problem, old.problem)
        inheritance = features_inherited(self.factor, old.factor, accepted)
        came = dict(zip(cells_of(old.cells, self.cells), old.came, strict=True))
        self.restore(
            {
                "learned": {"all": with_features(old.statistics.state(), inheritance)},
                "came": [came.get(cell, NEVER_CAME) for cell in range(self.cells.features)],
            }
        )
        return inheritance.error

    def state(self) -> Any:
        """Return everything learned as plain values."""
        return {"learned": super().state(), "came": list(self.came)}

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(_ContextRecencyState, state, "statistics")
        super().restore(saved.learned)
        trials = self.statistics.trials
        if len(saved.came) != len(self.came) or not all(
            trial == NEVER_CAME or 0 < trial <= trials for trial in saved.came
        ):
            raise SaveFileError(
                f"the saved last trials of contexts are invalid; expected {len(self.came)} trials "
                f"from 1 to {trials}, or {NEVER_CAME} for never"
            )
        self.came = list(saved.came)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = super().copy()
        twin.came = list(self.came)
        return twin


class _ContextRecencyState(msgspec.Struct, forbid_unknown_fields=True):
    learned: dict[str, Any]
    came: list[int]


class PatientKL(KeepsStates):
    """`EmpiricalKL` that waits for the context in which exploring an arm costs least.

    A pull gives the same information in every context, but its cost differs.  An upper
    confidence bound explores an arm where it is most easily mistaken for the best.  The least
    possible regret explores it where it is cheapest.  So an arm whose bound is the highest in
    some context, but whose mean is not, is pulled in the context where its mean is closest to
    the best, among the contexts of the last `patience` trials.  Contexts may be rare or stop
    occurring; exploration never waits longer than that.  There is no regret bound.  On the
    paper's seven channels, where waiting can save about a fifth of `EmpiricalKL`'s regret, it
    saves a sixth.  If every arm is best in some context, its regret is higher.  The policy keeps
    the histogram (or sketch) of the states of every arm, and when each context last occurred.

    Parameters
    ----------
    delta
        The largest width of the cells into which interval contexts are cut.  Every decision
        goes through all cells, so keep them few.
    c
        How much is explored beyond ln n.
    patience
        The longest wait for a cheap context, in trials; 0 means never to wait.
    knots
        The number of knots of a sketch of interval states; 65 if not given.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = PatientKL(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe_many(["wifi"] * 8 + ["lte"], capacity=[4] * 8 + [1], bits=[4, 1, 1] * 3)
    >>> policy.choose(bits=4), policy.choose(bits=1)   # with one bit lte loses nothing
    ('wifi', 'lte')
    """

    traits = Traits(
        breaks_ties_by_pulls=True,
        order_matters=True,
        arm_order_matters=True,
        waits_to_explore=True,
    )
    _knowledge: ContextRecency
    guarantee = (
        "no bound is known; it aims at the lower bound of Graves and Lai (1997), which explores "
        "each arm where it is cheapest"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float | Mapping[str, float] | None = None,
        c: float = 0.0,
        patience: int = 100,
        knots: int | None = None,
    ) -> None:
        self.c = constant("c", c, above=0.0, at_least=True)
        self.patience = whole_number("patience", patience, least=0)
        cells = partition(problem, delta)
        recency = ContextRecency(states_of(problem, knots), cells)
        super().__init__(problem, empirical_kl(self.c, 0.0), sharing=recency)
        self._at_centres: tuple[Any, ...] = (None,)

    @property
    def sharing(self) -> ContextRecency:
        """How this policy shares knowledge, and what it has learned."""
        return self._knowledge

    @property
    def delta(self) -> float | dict[str, float] | None:
        """The largest width of a cell, if interval contexts were cut into cells."""
        return self._knowledge.cells.delta

    def _due(self, request: Request) -> int:
        """Return the arm to pull if all are allowed."""
        knowledge = self._knowledge
        statistics, factor = knowledge.statistics, knowledge.factor
        if 0 in statistics.pulls:
            return statistics.pulls.index(0)
        here = knowledge.cells.locate(request.context)
        if self._at_centres[0] is not factor:  # another one if arms or their attributes change
            self._at_centres = factor, *centre_rewards(factor, knowledge.cells)
        _, values, listed, lows, tops, slacks = self._at_centres
        laws = np.array([statistics.column(j) for j in range(len(self._arms))])
        means = np.einsum("kjs,js->kj", values, laws) if values.ndim > 2 else values @ laws.T
        trial = statistics.trials + 1
        return patient_leader(
            listed, laws.tolist(), statistics.pulls, means.tolist(), lows, tops, slacks,
            exploration(trial, self.c), here, [trial - came for came in knowledge.came],
            self.patience,
        )  # fmt: skip

    def _leader(self, request: Request) -> int:
        if request.allowed is self._everyone:
            return self._due(request)
        return super()._leader(request)

    def _indices(self, request: Request) -> list[float]:
        indices = [float(estimate) for estimate in request.view.estimates]
        indices[request.once(self._due)] = UNPULLED
        return indices

    def _reason(self, request: Request, indices: list[float]) -> str:
        arm, view = request.once(self._due), request.view
        if view.statistics.pulls[arm] == 0 or arm not in request.allowed:
            return super()._reason(request, indices)
        slack = rounding(*spanned(view.low, view.high))
        if max(view.estimates) - view.estimates[arm] <= slack:
            return "highest estimate; no arm is due to be explored here"
        return f"{self._arms[arm]} is due to be explored, and costs least here"

    def _why(self) -> str:
        return "highest estimate"


def centre_rewards(factor: Any, cells: Cells) -> tuple[Array, Any, Any, Any, Any]:
    """Return the rewards of the listed states at the centre of each cell, and their bounds.

    They are an array, the same as lists, the lowest and the highest reward, and the difference up
    to which rewards count as equal.  If arms have attributes, all but the last are by arm.
    """
    centres = np.array(cells.centres)
    lows, tops = (bound.tolist() for bound in factor.bounds_many(centres))
    values: Array = factor.phi_many(centres)
    slacks = [rounding(*spanned(low, top)) for low, top in zip(lows, tops, strict=True)]
    return values, values.tolist(), lows, tops, slacks


def spanned(low: Any, high: Any) -> tuple[float, float]:
    """Return the range that holds those of all arms.

    >>> spanned([1.0, 2.0], [4.0, 3.0]), spanned(1.0, 4.0)
    ((1.0, 4.0), (1.0, 4.0))
    """
    return (low, high) if isinstance(low, float) else (min(low), max(high))
