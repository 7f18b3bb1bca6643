"""Discounted UCB: upper confidence bounds for arms that drift."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from onepull.errors import ParameterError
from onepull.forgetting import Discounted
from onepull.index import remembering
from onepull.policies.explorer import number
from onepull.policies.sharing import shared
from onepull.policies.upper_confidence import Optimist
from onepull.problem import Problem


class DiscountedUCB(Optimist):
    """Discounted UCB (Garivier and Moulines 2011) on any sharing of knowledge.

    Index: θ̂ + G·√(α ln min(n, N) / m), where an observation made k trials ago counts γ^k in
    the mean θ̂ and in the pulls m, and N = 1/(1-γ) is how many trials are remembered.  With
    α > 2, a known number of changes C and N of order √(T/C), wrong pulls of every arm are
    O(√(CT) ln T).  Where nothing changes they are O(T ln N / N): what is forgotten has to be
    explored again for ever.  With joint learning that is true of arms that are best in no
    context; the others are pulled anyway.  Keeps what its sharing keeps, and one number more.

    Parameters
    ----------
    discount
        γ in (0, 1): 0.999 remembers about the last 1000 trials.
    sharing
        Who learns from a pull: "joint", "per-context", "blind", or through a factorisation.
    delta
        Cuts interval contexts into cells no wider than this.
    alpha
        α > 0, how wide the bound is.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> policy = DiscountedUCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), discount=0.9)
    >>> policy.observe_many(["wifi"] * 20 + ["lte"] * 20, capacity=[2.0] * 20 + [1.5] * 20)
    >>> print(policy.explain(bits=2))
    DiscountedUCB at trial 41 with bits=2
      arm   pulls  estimate   bonus   index
    → wifi    1.1    2.0000  2.2748  4.2748
      lte     8.8    1.5000  0.7932  2.2932
    wifi: highest index
    """

    order_matters = True

    def __init__(  # noqa: PLR0913 - a full statement
        self,
        problem: Problem,
        *,
        discount: float = 0.999,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        alpha: float = 0.6,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.discount = number("discount", discount, above=0.0)
        if self.discount >= 1.0:
            raise ParameterError(f"discount must be below 1, given {discount!r}")
        self.alpha = number("alpha", alpha, above=0.0)
        self._shared = sharing
        fading = shared(problem, sharing, delta).keep(partial(Discounted, discount=self.discount))
        super().__init__(fading, remembering(self.alpha, self.memory), seed=seed)

    @property
    def memory(self) -> float:
        """N = 1/(1-γ), about how many trials are remembered."""
        return 1.0 / (1.0 - self.discount)

    @property
    def parameters(self) -> dict[str, Any]:
        """The discount, the sharing, δ if the contexts are cut into cells, and α."""
        return {
            "discount": self.discount,
            "sharing": self._shared,
            **self._cut(),
            "alpha": self.alpha,
        }
