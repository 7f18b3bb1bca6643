"""One pull of an arm, from the choice to the observation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from onepull.checks import shown
from onepull.errors import InputError, OnepullError, UnknownArm

if TYPE_CHECKING:
    from onepull.policies.policy import Policy


def is_failure(error: object) -> bool:
    """Whether an error in a block is the arm's fault, as far as anybody can tell.

    A group of errors, as a `TaskGroup` raises it, is not if all of them are ours.

    >>> is_failure(TimeoutError()), is_failure(KeyboardInterrupt()), is_failure(InputError())
    (True, False, False)
    >>> is_failure(ExceptionGroup("", [InputError()]))
    False
    """
    if isinstance(error, ExceptionGroup):
        return error.split(OnepullError)[1] is not None
    return isinstance(error, Exception) and not isinstance(error, OnepullError)


def note_given_up(error: BaseException, arm: str) -> None:
    """Add to the error of a refused observation what became of its pull.

    >>> error = InputError("capacity is missing")
    >>> note_given_up(error, "wifi")
    >>> error.__notes__
    ["the pull of 'wifi' was given up, so it counts as nothing; pull.observe(…) still learns its \
answer, also after the block"]
    """
    error.add_note(
        f"the pull of {arm!r} was given up, so it counts as nothing; pull.observe(…) still learns "
        "its answer, also after the block"
    )


class Pull:
    """A pull that reports by itself what becomes of it.

    `with policy.pull(…) as pull:` chooses an arm and counts it as in flight.  At the end of the
    block the pull is given up if it was not observed, whether the block ended normally, by an
    exception or because a task was cancelled.  So no pull stays in flight.  If the problem tells
    the reward of a failure, an exception in the block counts as one.  A cancelled task does not.
    Nor does an observation that is refused: the pull is given up, the error says so in a note, and
    `observe` still learns its answer after the block.  `async with` does the same.

    Attributes
    ----------
    arm
        The arm to pull.
    context
        The context that it was chosen for.

    Examples
    --------
    >>> from onepull import DCB, Finite, Interval, Problem
    >>> policy = DCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> with policy.pull(bits=4) as pull:
    ...     pull.observe(capacity=3.0)
    >>> pull.arm, policy.trials
    ('wifi', 1)
    """

    def __init__(
        self, policy: Policy, eligible: Collection[str] | None, context: Mapping[str, Any]
    ) -> None:
        self._policy, self._eligible = policy, eligible
        self.context = dict(context)
        self.arm = ""
        self._is_in_flight = False
        self._is_observed = False
        self._refusal: OnepullError | None = None

    def observe(
        self, *, reward: float | None = None, failed: bool | float = False, **state: Any
    ) -> None:
        """Learn from the pull: its state by name, its `reward`, or that it `failed`.

        An answer that comes after the end of the block is learned too.
        """
        if not self.arm:
            raise InputError("this pull has no arm yet; use 'with policy.pull(…) as pull:'")
        if self._is_observed:
            raise InputError(f"this pull of {self.arm!r} was observed before")
        for name in self.context.keys() & state.keys():
            if state[name] != self.context[name]:
                raise InputError(
                    f"this pull was chosen for {name}={shown(self.context[name])}, "
                    f"given {name}={shown(state[name])}"
                )
        was_given_up = not self._is_in_flight
        if was_given_up:  # Otherwise the answer would end another pull of this arm.
            self._policy.pulled(self.arm, **self.context)
            self._is_in_flight = True
        try:
            told = {**state, **self.context}
            self._policy.observe(self.arm, reward=reward, failed=failed, **told)
            self._is_observed, self._is_in_flight = True, False
        except OnepullError as error:
            self._refusal = error
            raise
        finally:
            if was_given_up:
                self.give_up()

    def fail(self) -> None:
        """Learn that the pull failed; an exception in the block does this by itself.

        The problem must tell the reward of a failure.
        """
        self.observe(failed=True)

    def give_up(self) -> None:
        """Report that no answer will come; the end of the block does this by itself."""
        if self._is_in_flight:
            self._is_in_flight = False
            with suppress(UnknownArm):  # it was removed meanwhile
                self._policy.gave_up(self.arm, **self.context)

    def __enter__(self) -> Self:
        """Choose the arm, and count it as in flight."""
        if self.arm:
            raise InputError(f"this pull of {self.arm!r} was begun before; call policy.pull again")
        arm = self._policy.choose(eligible=self._eligible, **self.context)
        self._policy.pulled(arm, **self.context)
        self.arm, self._is_in_flight = arm, True
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Count an exception as a failure, and give up a pull that was not observed."""
        can_fail = self._policy.problem.failure is not None
        if self._is_in_flight and can_fail and is_failure(error):
            with suppress(UnknownArm):  # it was removed meanwhile
                self.fail()
        refusal = self._refusal
        if self._is_in_flight and refusal is not None and error is refusal:
            note_given_up(refusal, self.arm)
        self.give_up()

    async def __aenter__(self) -> Self:
        """Choose the arm, and count it as in flight."""
        return self.__enter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Do the same at the end of an asynchronous block."""
        self.__exit__(kind, error, trace)
