"""The known guarantee of a policy in words, and where it does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from onepull.policies import Policy


def statement(kind: type[Policy], missed: Sequence[str] = ()) -> str:
    """Return what a policy class states about its regret; nothing for a subclass of one's own.

    Parameters
    ----------
    missed
        What is assumed and does not hold.

    Examples
    --------
    >>> from onepull import IMED
    >>> statement(IMED, ["the laws change"])
    'asymptotically optimal in a single context (Honda and Takemura 2015); no bound is known for \
joint learning; not here, where the laws change'
    """
    said = str(vars(kind).get("guarantee", ""))
    return f"{said}; not here, where {' and '.join(missed)}" if said and missed else said
