"""Drift plus penalty: weigh the gain of a slot against the change of the buffer."""

from __future__ import annotations

from onepull.checks import number
from onepull.control.buffer import Buffer
from onepull.control.controller import IDLE, Controller, SlotChoice
from onepull.policies import Policy


class DriftPlusPenalty(Controller):
    """Weighs what a pull gains against what it drains, with any policy (Neely 2010).

    At level L it draws the amount y and pulls the arm j with the highest
    V·gain + (L - θ)·drain, and idles if no score is positive.  With U the policy's index, a
    `Battery` gains U_j(y) and drains y: a fuller battery spends more power.  A `Backlog` gains
    -cost_j and drains U_j(y): a longer queue uses more expensive arms (max-weight).

    The level is measured from θ = V·max gain/drain, where using a unit in the best way and
    saving it are worth the same.  This keeps a battery from running dry (Huang and Neely 2013),
    and a queue from holding bits that would never be sent (Neely's place-holders).

    With known arms, a large enough buffer and arrivals that are independent between slots, the
    long-run average is within O(1/V) of the best, and the level grows like O(V).  The law of
    the arrivals need not be known.  When arms are learned, the index replaces the mean, and the
    cost of learning comes on top.  If the buffer is too small for V, overflow costs more than V
    gains.

    Parameters
    ----------
    policy, buffer
        As for every controller.
    weight
        V > 0, the weight of the gain against the level.

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
        """Return the amount and arm with the highest V·gain + (L - θ)·drain, if positive."""
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
        """Return the highest gain per unit drained."""
        uses = (use for amount in self.buffer.amounts for use in self.uses(amount))
        return max((gain / drain for _, gain, drain in uses if drain > 0.0), default=0.0)
