"""One decision of a policy: the request, and what the decision is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Part = TypeVar("Part")
made = tuple.__new__  # makes a request of a tuple, quicker than its class does


class _Asked(NamedTuple):
    context: Mapping[str, Any]
    view: Any
    allowed: Sequence[int]


class Request(_Asked):
    """One decision as `choose` and `explain` read it: built once per request, immutable.

    Attributes
    ----------
    context
        The fields of the context, as given.
    view
        What the policy decides from: its statistics and estimates for this context.
    allowed
        The positions of the arms that may be chosen.

    Examples
    --------
    >>> request = Request({"bits": 3}, [0.5, 2.0], range(2))
    >>> request.allowed
    range(0, 2)
    >>> def highest(request):
    ...     print("worked out")
    ...     return max(request.view)
    >>> request.once(highest), request.once(highest)
    worked out
    (2.0, 2.0)
    """

    def once(self, part: Callable[[Request], Part]) -> Part:
        """Return what a function of the request returns; it is called the first time only.

        So parts of the decision that several methods of a policy need, such as its indices, are
        worked out once: `request.once(self._indices)`.
        """
        known: dict[Any, Part] = self.__dict__
        if part in known:
            return known[part]
        found = known[part] = part(self)
        return found
