"""One request as a policy sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Request(NamedTuple):
    """One request as `choose` and `explain` read it: built once per request, immutable.

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
    >>> Request({"bits": 3}, None, range(2)).allowed
    range(0, 2)
    """

    context: Mapping[str, Any]
    view: Any
    allowed: Sequence[int]
