"""All errors that onepull raises.

::

    OnepullError
    ├── ProblemError          the problem is invalid
    │   ├── FormulaError      a formula is invalid; points at the offending part
    │   └── DeclarationError  an example contradicts a declaration about the reward
    ├── ParameterError        a parameter is invalid
    ├── InputError            an argument of a call does not fit the problem
    │   ├── UnknownArm
    │   ├── ContextError
    │   ├── StateError
    │   └── RewardError
    ├── ClusterError          a cluster cannot be reached, or cannot run the work
    ├── MissingExtra          an optional dependency is not installed
    ├── MergeError            two policies cannot be merged
    ├── SaveFileError         a saved policy cannot be read
    ├── StoreError            a log cannot be read or written
    ├── ServiceError          a service cannot be reached in time
    ├── ConflictError         an id was used before for something else
    └── NotFound              a log has no such id

An error says what was given, what is allowed and where.  A call that raises changes
nothing: after an invalid input a policy is exactly as it was before.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self


class OnepullError(Exception):
    """The base class of all errors of onepull.

    >>> issubclass(ContextError, OnepullError)
    True
    """


class ProblemError(OnepullError, ValueError):
    """The arms, spaces or reward of a problem are invalid."""


class FormulaError(ProblemError):
    r"""A formula is invalid.

    The message shows the formula with the offending part underlined.

    >>> str(FormulaError("unknown name 'x'", text="1 + x", start=4, stop=5))
    "unknown name 'x'\n    1 + x\n        ^"
    """

    def __init__(self, reason: str, *, text: str, start: int, stop: int) -> None:
        self.reason = reason
        self.text = text
        self.start = start
        self.stop = stop
        # A formula may have thousands of characters: show only the part around the error.
        left = max(0, start - 60)
        shown = text[left : left + 120]
        marks = " " * (start - left) + "^" * max(1, min(stop, left + 120) - start)
        super().__init__(f"{reason}\n    {shown}\n    {marks}")

    def __reduce__(self) -> Any:
        """Pickle the error by its constructor arguments."""
        rebuild = partial(type(self), self.reason, text=self.text, start=self.start, stop=self.stop)
        return rebuild, (), self.__dict__


class DeclarationError(ProblemError):
    """An example contradicts what was declared about the reward."""


class ParameterError(OnepullError, ValueError):
    """A parameter of a policy, factorisation, law, simulation or figure is invalid."""


class InputError(OnepullError, ValueError):
    """An argument of a call does not fit the problem."""


class UnknownArm(InputError):  # noqa: N818 - reads as what happened
    """The problem has no such arm."""


class ContextError(InputError):
    """A context has a missing, unknown or invalid field."""


class StateError(InputError):
    """A state has a missing, unknown or invalid field."""


class RewardError(InputError):
    """A reward is impossible, or does not determine the state."""


class ClusterError(OnepullError, RuntimeError):
    """A cluster cannot be reached, or its workers cannot run the work."""


class MissingExtra(OnepullError, ImportError):  # noqa: N818 - reads as what happened
    """A feature needs an optional dependency; the message says what to install."""

    @classmethod
    def of(cls, what: str, extra: str) -> Self:
        """Return the error of something that needs an extra of this package.

        >>> print(MissingExtra.of("the client needs", "client"))
        the client needs the 'client' extra: pip install '.[client]' in a checkout of onepull
        """
        how = f"pip install '.[{extra}]' in a checkout of onepull"  # it is on no package index yet
        return cls(f"{what} the {extra!r} extra: {how}")


class MergeError(OnepullError, ValueError):
    """Two policies cannot be merged."""


class SaveFileError(OnepullError, ValueError):
    """A saved policy is damaged, from a newer version, or of another problem."""


class StoreError(OnepullError, RuntimeError):
    """A log cannot be read or written: a full disk, a lost connection, a damaged file."""


class ServiceError(OnepullError, ConnectionError):
    """A service cannot be reached in time, or the client is closed."""


class ConflictError(OnepullError, ValueError):
    """An id was used before for another decision or another observation, and the first stands."""


class NotFound(OnepullError, LookupError):  # noqa: N818 - reads as what happened
    """A log has no such id; the message says what to give instead.

    >>> issubclass(NotFound, LookupError)
    True
    """
