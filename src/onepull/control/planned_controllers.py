"""Controllers that follow a plan: a fixed one, or one updated as arms are learned."""

from __future__ import annotations

from onepull.control.buffer import Battery, Buffer
from onepull.control.controller import Controller, SlotChoice
from onepull.control.dynamic_programming import LevelAction, LevelPlan, best_plan, level_step
from onepull.distributions import Distribution
from onepull.errors import ParameterError
from onepull.policies import Policy


class Planned(Controller):
    """Follows a given plan; its policy learns but has no influence.

    >>> from onepull import DCB, Discrete, Finite, Interval, Problem
    >>> from onepull.control import Battery, LevelAction
    >>> problem = Problem(
    ...     arms=["a"], context={"power": Finite([1, 2])}, state={"x": Interval(0, 1)},
    ...     reward="power * x",
    ... )
    >>> battery = Battery(capacity=2, amounts=[1, 2])
    >>> options = [LevelAction(SlotChoice(1.0, "a"), 1.0, (1.0,), (1.0,))]
    >>> plan = best_plan(battery, options, Discrete([0, 2], [0.5, 0.5]))
    >>> Planned(DCB(problem), battery, plan).decide(level=1)
    SlotChoice(amount=1.0, arm='a')
    """

    def __init__(self, policy: Policy, buffer: Buffer, plan: LevelPlan) -> None:
        super().__init__(policy, buffer)
        if not isinstance(plan, LevelPlan):
            raise ParameterError(f"plan must be a LevelPlan, as best_plan returns, given {plan!r}")
        self.plan = plan

    def _decide(self, level: float) -> SlotChoice:
        """Return the planned decision at a level."""
        return self.plan.at(level)


class BatteryPlan(Controller):
    """Follows the plan that would be optimal if every index were the mean reward.

    The worth of a power is U(p) = max_j U_j(p), and dynamic programming gives the power to
    spend at each level.  The plan is recomputed whenever the number of observations has
    doubled; the arm is always the current best.  With a `Genie` it is optimal.  Unlike
    `DriftPlusPenalty` it needs the law of the arrivals, with listed amounts.

    Parameters
    ----------
    policy
        As for every controller.
    battery
        The battery; its powers and the arrivals must be multiples of one step.
    arrivals
        The law of the energy that arrives in a slot.

    Examples
    --------
    >>> from onepull import Discrete, Finite, Genie, Problem
    >>> from onepull.control import Battery
    >>> problem = Problem(
    ...     arms=["steady", "risky"],
    ...     context={"power": Finite([1, 2])},
    ...     state={"gain": Finite([0, 1, 3])},
    ...     reward="log(1 + power * gain)",
    ... )
    >>> genie = Genie(problem, states={
    ...     "steady": Discrete([1], [1.0]), "risky": Discrete([0, 3], [0.6, 0.4])
    ... })
    >>> control = BatteryPlan(
    ...     genie, Battery(capacity=4, amounts=[1, 2]), arrivals=Discrete([0, 2], [0.5, 0.5])
    ... )
    >>> [control.decide(level).amount for level in range(5)]
    [0.0, 1.0, 1.0, 1.0, 2.0]
    """

    def __init__(self, policy: Policy, battery: Buffer, *, arrivals: Distribution) -> None:
        super().__init__(policy, battery)
        if not isinstance(battery, Battery):
            raise ParameterError(f"BatteryPlan needs a Battery, given {battery!r}")
        self.arrivals = arrivals
        level_step(battery, arrivals, battery.amounts)  # refuses what has no plan
        self._plan: LevelPlan | None = None  # made at the first decision, since it takes long
        self._due = max(len(policy.problem.arms), 2 * policy.trials)

    def _decide(self, level: float) -> SlotChoice:
        """Return the planned amount, on the current best arm for it."""
        plan = self._plan
        if plan is None or self.policy.trials >= self._due:
            self._due = max(self._due, 2 * self.policy.trials)
            plan = self._plan = self._replanned(plan)
        amount, arm = plan.at(level)
        return SlotChoice(amount, arm and self._best(amount))

    def _best(self, amount: float) -> str:
        return max(self.options(amount), key=lambda option: option[1])[0]

    def _replanned(self, last: LevelPlan | None) -> LevelPlan:
        options = [
            LevelAction(SlotChoice(a, self._best(a)), self.worth(a), (a,), (1.0,))
            for a in self.buffer.amounts
        ]
        bias = None if last is None else last.bias
        return best_plan(self.buffer, options, self.arrivals, bias=bias)
