"""The errors that onepull raises, all of them.

::

    OnepullError
    ├── ProblemError          the problem as written cannot be
    │   ├── FormulaError      a formula was refused; points at the offending part
    │   └── DeclarationError  a declared fact is contradicted by an example
    ├── ParameterError        a parameter that is not allowed
    ├── InputError            what a call was given does not fit the problem
    │   ├── UnknownArm
    │   ├── ContextError
    │   ├── StateError
    │   └── RewardError
    ├── ClusterError          a cluster that cannot be reached, or cannot run this
    ├── MissingExtra          a part of onepull that is not installed
    ├── MergeError            two policies whose learning cannot be added
    └── SaveFileError         a saved policy that cannot be read

An error says what was given, what is allowed and where.  Whatever raised it has
changed nothing: a policy that refuses an input is exactly as it was before.
"""

from __future__ import annotations

from functools import partial
from typing import Any


class OnepullError(Exception):
    """Anything that onepull refuses.

    >>> issubclass(ContextError, OnepullError)
    True
    """


class ProblemError(OnepullError, ValueError):
    """The arms, spaces or reward of a problem do not make sense."""


class FormulaError(ProblemError):
    r"""A formula was refused.

    The message shows the formula with the offending part underlined.

    >>> str(FormulaError("unknown name 'x'", text="1 + x", start=4, stop=5))
    "unknown name 'x'\n    1 + x\n        ^"
    """

    def __init__(self, reason: str, *, text: str, start: int, stop: int) -> None:
        self.reason = reason
        self.text = text
        self.start = start
        self.stop = stop
        # A formula may be thousands of characters; show the neighbourhood.
        left = max(0, start - 60)
        shown = text[left : left + 120]
        marks = " " * (start - left) + "^" * max(1, min(stop, left + 120) - start)
        super().__init__(f"{reason}\n    {shown}\n    {marks}")

    def __reduce__(self) -> Any:
        """Travel to other processes as what it was made from."""
        rebuild = partial(type(self), self.reason, text=self.text, start=self.start, stop=self.stop)
        return rebuild, (), self.__dict__


class DeclarationError(ProblemError):
    """Something declared about the reward is contradicted by an example."""


class ParameterError(OnepullError, ValueError):
    """A policy, factorisation, law, simulation or figure got a parameter that is not allowed."""


class InputError(OnepullError, ValueError):
    """What a call was given does not fit the problem."""


class UnknownArm(InputError):  # noqa: N818 - reads as what happened
    """An arm that the problem does not have."""


class ContextError(InputError):
    """A context with a missing, unknown or unacceptable field."""


class StateError(InputError):
    """A state with a missing, unknown or unacceptable field."""


class RewardError(InputError):
    """A reward that cannot be, or from which the state cannot be told."""


class ClusterError(OnepullError, RuntimeError):
    """A cluster that cannot be reached, or whose workers cannot run what they would be sent."""


class MissingExtra(OnepullError, ImportError):  # noqa: N818 - reads as what happened
    """Something that needs more than the base package; says what to install."""


class MergeError(OnepullError, ValueError):
    """Two policies whose learning cannot be added up."""


class SaveFileError(OnepullError, ValueError):
    """A saved policy that is damaged, too new, or of another problem."""
