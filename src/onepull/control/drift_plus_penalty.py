"""Drift plus penalty: what a slot earns, weighed against what it does to the buffer."""

from __future__ import annotations

from onepull.checks import number
from onepull.control.buffer import Buffer
from onepull.control.controller import IDLE, Controller, SlotChoice
from onepull.policies import Policy


class DriftPlusPenalty(Controller):
    """Weighs what a pull gains against what it drains, around any policy (Neely 2010).

    At level L it draws the amount y and pulls the arm j with the highest
    V·gain + (L - θ)·drain, and idles where none is above nothing.  With U the policy's index,
    a `Battery` gains U_j(y) and drains y: the fuller, the more power.  A `Backlog` gains
    -cost_j and drains U_j(y): the longer the queue, the dearer an arm may be (max-weight).

    The level is counted from θ = V·max gain/drain, at which the best use of a unit and saving
    it are worth the same: it keeps a battery from running dry (Huang and Neely 2013), and
    spares a queue the bits that would never be sent (Neely's place-holders).

    With known arms, a large enough buffer and arrivals that are independent from slot to
    slot, the long run falls short of the best by O(1/V), while the level that it takes grows
    like O(V).  No law of the arrivals is needed.  With learned arms the index takes the place
    of the mean, and what learning costs comes on top.  In a buffer that is too small for V,
    more is lost for want of room than V gains.

    Parameters
    ----------
    policy, buffer
        As for every controller.
    weight
        V > 0: how much the gain counts against the level.

    Examples
    --------
    >>> from onepull import Discrete, Finite, Genie, Problem
    >>> from onepull.control import Backlog
    >>> problem = Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 4])},
    ...     reward="min(bits, capacity)",
    ... )
    >>> genie = Genie(problem, states={
    ...     "wifi": Discrete([0, 1], [0.5, 0.5]), "lte": Discrete([4], [1.0])
    ... })
    >>> backlog = Backlog(capacity=100, amounts=[1, 2, 3, 4], costs={"wifi": 0.1, "lte": 2.0})
    >>> control = DriftPlusPenalty(genie, backlog, weight=10.0)
    >>> [control.decide(level).arm for level in (0, 1, 3, 4)]  # θ = -2: 0.5·L against 4·L - 12
    [None, 'wifi', 'wifi', 'lte']
    """

    def __init__(self, policy: Policy, buffer: Buffer, *, weight: float) -> None:
        super().__init__(policy, buffer)
        self.weight = number("weight", weight, above=0.0)

    def _decide(self, level: float) -> SlotChoice:
        """Return the amount and arm with the highest V·gain + (L - θ)·drain, if above nothing."""
        offers = self.buffer.offers(level)
        if not offers:
            return IDLE
        surplus = level - self.weight * self._best_rate()
        best, highest = IDLE, 0.0
        for amount in offers:
            for arm, gain, drain in self.uses(amount):
                score = self.weight * gain + surplus * drain
                if score > highest:
                    best, highest = SlotChoice(amount, arm), score
        return best

    def _best_rate(self) -> float:
        """Return the most that a unit drained can gain."""
        uses = (use for amount in self.buffer.amounts for use in self.uses(amount))
        return max((gain / drain for _, gain, drain in uses if drain > 0.0), default=0.0)
