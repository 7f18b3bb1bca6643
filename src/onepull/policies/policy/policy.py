"""The base class of all policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onepull.html import block, names, table
from onepull.policies.policy.saving import Saving


class Policy(Saving):
    """Chooses an arm for each request and learns from the feedback of pulls.

    A policy gives each arm an index and chooses the arm with the highest one.  A tie goes to
    the first arm, or to one drawn at random if the policy has a seed.  Policies whose index is
    capped at the highest reward tie often; they prefer the arm with the fewest pulls.  A
    randomised policy draws its arm.

    A caller can rely on this:

    - `choose` and `explain` do not change what was learned.  You can call them any number of
      times, and a pull does not have to be observed.
    - `observe` may come late, in any order, in batches, or never.  If it comes late, use
      `pull`, or `pulled` and `gave_up`, to report pulls in flight.  These are not saved and
      not merged.
    - A call that raises an exception changes nothing.
    - `save` and `load` restore the same policy bit for bit.  `merge` adds the observations of
      two policies, as if one policy had made them all.  Members of a fleet (`join`) exchange
      `updates`, in any order and any number of times, and no pull counts twice.
    - `pause`, `pin` and `share` change which arms may be chosen, and nothing that was learned.
    - Call a policy from one thread at a time.  It holds no locks, files or threads.

    To write your own policy, pass the `Knowledge` that it learns to `__init__`, and define
    `_look` and `_indices`.  Or subclass `MeanPolicy`, `StatePolicy` or `TurnPolicy` and pass a
    rule, which the simulator compiles.  Keep each parameter of its constructor in an attribute of
    the same name, since `parameters` reads them there to save it.  Declare unusual properties in
    `traits`, and run the checks of `onepull.testing` on it.

    Attributes
    ----------
    traits
        How the policy differs from a usual one.
    guarantee
        What is known about its regret, in one sentence.
    """

    guarantee: ClassVar[str] = "no bound is known"

    def __repr__(self) -> str:
        """Return the class, the parameters and the number of trials."""
        return self._shown(self.parameters)

    def _repr_html_(self) -> str:
        """Return the policy as a table for a notebook."""
        rows = [
            ("policy", repr(self).strip("<>")),
            ("arms", names(self._arms)),
            (
                "context",
                names(list(self.problem.context) if self.problem.context.has_fields else []),
            ),
            ("state", names(list(self.problem.state))),
            ("storage", f"{self.storage:,} numbers"),
        ]
        return block(table(type(self).__name__, (), rows, text_columns=2))

    def _shown(self, parameters: Mapping[str, Any]) -> str:
        stated = "".join(f", {name}={value!r}" for name, value in parameters.items())
        arms = f"{len(self._arms)} arm{'s' * (len(self._arms) > 1)}"
        trials = f"{self.trials} trial{'s' * (self.trials != 1)}"
        return f"<{type(self).__name__}({arms}{stated}) after {trials}>"
