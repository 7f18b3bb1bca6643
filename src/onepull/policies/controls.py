"""What an operator asks of a policy: pause an arm, pin one, keep its share of the pulls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from onepull.checks import number, restored
from onepull.errors import InputError, ParameterError, SaveFileError

NO_ANSWER = "no answer yet"  # of an arm whose pulls were all given up
SHARE_ROUNDING = 1e-9  # of a sum of shares, and of a share of the pulls


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least and the most share of the pulls that an arm gets.

    >>> Share(least=0.05)
    Share(least=0.05, most=1.0)
    >>> Share(least=0.5, most=0.2)
    Traceback (most recent call last):
    onepull.errors.ParameterError: least must not be above most, given least=0.5 and most=0.2
    """

    least: float = 0.0
    most: float = 1.0

    def __post_init__(self) -> None:
        """Raise ParameterError unless both are shares, the least not above the most."""
        for name, value in (("least", self.least), ("most", self.most)):
            share = number(name, value, above=0.0, at_least=True, most=1.0)
            msgspec.structs.force_setattr(self, name, share)
        if self.least > self.most:
            raise ParameterError(
                f"least must not be above most, given least={self.least:g} and most={self.most:g}"
            )


class Controls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator has asked of a policy.

    Controls change which arms may be chosen and nothing that was learned.  In order of strength:

    1. An arm that is not `eligible` is not chosen.
    2. A paused arm is not chosen.  If all eligible arms are paused, `choose` raises InputError.
    3. A pinned arm is chosen, unless it is not eligible or paused.
    4. An arm that is a whole pull behind its least share is due and is chosen.  Of several the
       one that is furthest behind is chosen, and of equal ones the first.
    5. An arm that one more pull would lift above its most share is left out.  If this would
       leave out all arms, those that would be least above it stay.

    Shares are of the observed pulls and pulls in flight since the controls last changed, so an
    arm has nothing to catch up after a pause.

    Attributes
    ----------
    paused
        The paused arms, in the order of the arms.
    pinned
        The pinned arm, if any.
    shares
        The arms with a least or a most share.

    Examples
    --------
    >>> from onepull import DCB, Finite, Interval, Problem
    >>> policy = DCB(Problem(
    ...     arms=["wifi", "lte"], context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 7)}, reward="min(bits, capacity)",
    ... ))
    >>> policy.pause("wifi")
    >>> policy.share("lte", least=0.05)
    >>> policy.controls
    Controls(paused=('wifi',), pinned=None, shares={'lte': Share(least=0.05, most=1.0)})
    >>> policy.choose(bits=4)
    'lte'
    """

    paused: tuple[str, ...] = ()
    pinned: str | None = None
    shares: dict[str, Share] = {}

    def __bool__(self) -> bool:
        """Whether any control is set."""
        return bool(self.paused or self.pinned is not None or self.shares)

    def without(self, *arms: str) -> Controls:
        """Return the controls of the other arms."""
        gone = set(arms)
        return Controls(
            tuple(name for name in self.paused if name not in gone),
            None if self.pinned in gone else self.pinned,
            {name: share for name, share in self.shares.items() if name not in gone},
        )

    def with_paused(self, arm: str, arms: Sequence[str], *, paused: bool) -> Controls:
        """Return the controls with an arm paused or not."""
        names = ({*self.paused} | {arm}) if paused else ({*self.paused} - {arm})
        return Controls(tuple(name for name in arms if name in names), self.pinned, self.shares)

    def with_share(self, arm: str, least: Any, most: Any) -> Controls:
        """Return the controls with an arm's share; raises ParameterError if it is impossible.

        >>> Controls().with_share("a", 0.7, 1.0).with_share("b", 0.5, 1.0)
        Traceback (most recent call last):
        onepull.errors.ParameterError: the least shares must sum to at most 1, given a 0.7, b 0.5
        """
        share = Share(least, most)
        shares = {name: kept for name, kept in self.shares.items() if name != arm}
        if share != Share():
            shares[arm] = share
        found = Controls(self.paused, self.pinned, shares)
        if found.asked > 1.0 + SHARE_ROUNDING:
            each = ", ".join(f"{name} {kept.least:g}" for name, kept in shares.items())
            raise ParameterError(f"the least shares must sum to at most 1, given {each}")
        return found

    @property
    def asked(self) -> float:
        """The sum of all least shares."""
        return sum(share.least for share in self.shares.values())


def saved_controls(state: Any, arms: Sequence[str]) -> Controls:
    """Return saved controls; raises SaveFileError if they are invalid.

    >>> saved_controls({"pinned": "b"}, ["a"])
    Traceback (most recent call last):
    onepull.errors.SaveFileError: the saved controls name the arm 'b', which does not exist
    """
    saved = restored(Controls, state, "controls")
    named = {*saved.paused, *saved.shares, *([saved.pinned] if saved.pinned is not None else [])}
    for name in sorted(named - set(arms)):
        raise SaveFileError(f"the saved controls name the arm {name!r}, which does not exist")
    in_order = tuple(arm for arm in arms if arm in saved.paused)
    if (
        saved.paused != in_order
        or saved.asked > 1.0 + SHARE_ROUNDING
        or any(share == Share() for share in saved.shares.values())
    ):
        raise SaveFileError("the saved controls contradict each other")
    return saved


class Narrowed(NamedTuple):
    """The arms that the controls leave, and why."""

    allowed: Sequence[int]
    by_arm: dict[int, str]  # the control that concerns an arm in this decision
    reason: str  # the control that decides alone; empty if the policy chooses

    def without(self, resting: Collection[int], given_up: Sequence[int]) -> Narrowed:
        """Leave out arms that have never answered; if no other is left, the least given up stay.

        >>> Narrowed([0, 1], {}, "").without([0], [3, 0])
        Narrowed(allowed=[1], by_arm={0: 'no answer yet'}, reason='')
        >>> Narrowed([0, 1], {}, "").without([0, 1], [3, 2]).allowed
        [1]
        """
        left = [j for j in self.allowed if j not in resting]
        if not left:
            fewest = min(given_up[j] for j in self.allowed)
            left = [j for j in self.allowed if given_up[j] == fewest]
        out = {j: NO_ANSWER for j in self.allowed if j not in left}
        return Narrowed(left, self.by_arm | out, self.reason) if out else self

    def note(self, arms: Sequence[str]) -> str:
        """Return the arms that controls leave out, as the end of a reason.

        >>> Narrowed([0], {1: "paused", 2: "most share", 3: "paused"}, "").note("abcd")
        '; paused: b, d; most share: c'
        """
        out: dict[str, list[str]] = {}
        for j, control in sorted(self.by_arm.items()):
            if j not in self.allowed:
                out.setdefault(control, []).append(arms[j])
        return "".join(f"; {control}: {', '.join(names)}" for control, names in out.items())


def narrowed(
    controls: Controls,
    position: Mapping[str, int],
    allowed: Sequence[int],
    pulls: Sequence[int],
) -> Narrowed:
    """Return which of the allowed arms the controls leave; raises InputError if there are none.

    `pulls` are those of each arm since the controls last changed.

    >>> controls = Controls(paused=("a",)).with_share("b", 0.5, 1.0)
    >>> narrowed(controls, {"a": 0, "b": 1, "c": 2}, range(3), [0, 1, 2])
    Narrowed(allowed=[1], by_arm={0: 'paused', 1: 'least share'}, reason='least share')
    """
    by_arm = {position[arm]: "paused" for arm in controls.paused}
    left: Sequence[int] = [j for j in allowed if j not in by_arm] if by_arm else allowed
    if not left:
        names = list(position)
        those = ", ".join(repr(names[j]) for j in allowed)
        raise InputError(f"all arms that may be chosen are paused: {those}; resume one of them")
    if controls.pinned is not None:
        pin = position[controls.pinned]
        if pin in left:
            return Narrowed([pin], by_arm | {pin: "pinned"}, "pinned")
        by_arm[pin] = f"pinned, but {by_arm.get(pin, 'not eligible')}"
    if not controls.shares:
        return Narrowed(left, by_arm, "")
    shares = {position[arm]: share for arm, share in controls.shares.items()}
    after = sum(pulls) + 1
    behind = {
        j: share.least * after - pulls[j]
        for j, share in sorted(shares.items())
        if j in left and share.least * after - pulls[j] >= 1.0 - SHARE_ROUNDING
    }
    if behind:
        due = max(behind, key=behind.__getitem__)
        return Narrowed([due], by_arm | {due: "least share"}, "least share")
    above = {j: pulls[j] + 1 - shares[j].most * after if j in shares else 0.0 for j in left}
    # If all are above, those that are least above stay.
    limit = max(min(above.values()), 0.0) + SHARE_ROUNDING * after
    out = {j: "most share" for j, excess in above.items() if excess > limit}
    return Narrowed([j for j in left if j not in out] if out else left, by_arm | out, "")
