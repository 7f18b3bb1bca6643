"""A problem: the arms, the spaces of contexts and states, and the known reward."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import numpy as np

from onepull.arms import (
    Attributes,
    GivenArms,
    WordsOfAttributes,
    arm_attributes,
    arm_names,
    attribute_spaces,
    further_words,
    words_left,
)
from onepull.checks import shown
from onepull.errors import FormulaError, InputError, ParameterError, ProblemError
from onepull.formula import Formula
from onepull.html import block, names, printable
from onepull.html import table as html_table
from onepull.payoff import Fixed, Payoff, Reward, State, bind
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.payoff.reward import Source
from onepull.problem.attribute_words import check_words, mentioned, spoken, with_remedy
from onepull.problem.fields import box_of, check_fields, checked_failure
from onepull.problem.toml_text import toml_values
from onepull.problem.written_problem import outline_of, parts_in, reward_out, toml_of
from onepull.spaces import FAILED, Box, Finite, Interval, Space


@dataclass(frozen=True, slots=True, init=False)
class Problem:
    """The arms, the spaces and the reward: everything known before the first pull.

    Parameters
    ----------
    arms
        The names of the arms, or the known attributes of each by its name, such as its price.
    context
        The fields of a request, seen before choosing, each with its space; none if all requests
        are alike.
    state
        The fields of an arm's state, shown by a pull, each with its space.
    reward
        The known reward: a formula over those fields and the attributes, a callable that takes
        them by name, or a `Reward` with declarations.
    failure
        The reward of a pull that failed and shows no state: a number, or a formula over the
        context and the attributes.  Without it pulls do not fail.
    words
        Words that attributes may have though no arm has them now, by attribute.  A formula may
        compare an attribute with these words and with those of the arms.

    Attributes
    ----------
    attributes
        The attributes of each arm, by its name.
    outcome
        All that decides the reward of a pull beside its context: the attributes of the arm, its
        state, and whether the pull failed.  It is the state if there are neither attributes nor
        failures.
    payoff
        The reward as a function of the context and the outcome.

    Examples
    --------
    >>> problem = Problem(
    ...     arms=["wifi", "lte", "5g"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> problem.payoff(bits=3, capacity=2)
    2.0
    >>> Problem.from_json(problem.to_json()) == problem
    True

    The price of each arm is known, and a pull may fail:

    >>> problem = Problem(
    ...     arms={"alpha": {"price": 1e-4}, "beta": {"price": 2e-4}},
    ...     context={"tokens": Interval(1, 4000)},
    ...     state={"seconds": Interval(0, math.inf)},
    ...     reward="-seconds - 10 * price * tokens",
    ...     failure="-30",
    ... )
    >>> problem.payoff_of("beta")(tokens=1000, seconds=0.5), problem.payoff.whole_range
    (-2.5, (-inf, -0.001))
    """

    arms: tuple[str, ...]
    context: Box
    state: Box
    reward: Reward
    failure: float | str | None
    attributes: Attributes
    # Beside those of the arms.  Two problems without them are alike if all else is.
    words: WordsOfAttributes = field(compare=False, repr=False)
    outcome: Box = field(compare=False, repr=False)
    payoff: Payoff = field(compare=False, repr=False)
    # The attributes of each arm as numbers, in the order of the fields of the outcome.
    known: tuple[State, ...] = field(compare=False, repr=False)
    _payoffs: dict[str, Payoff] = field(compare=False, repr=False)

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        *,
        arms: GivenArms,
        context: Mapping[str, Space] | None = None,
        state: Mapping[str, Space],
        reward: Reward | Source,
        failure: float | str | None = None,
        words: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "arms", arm_names(arms))
        set_(self, "attributes", arm_attributes(arms))
        set_(self, "context", box_of(context, "context"))
        set_(self, "state", box_of(state, "state"))
        set_(self, "reward", reward if isinstance(reward, Reward) else Reward(reward))
        set_(self, "failure", checked_failure(failure))
        known = attribute_spaces(self.attributes)
        set_(self, "words", further_words({} if words is None else words, known))
        check_fields(self.context, self.state, known)
        outcome = self.state
        if known or failure is not None:
            ending = {} if failure is None else {FAILED: Finite([0, 1])}
            outcome = Box({**known, **self.state, **ending}).acting_as("state")
        set_(self, "outcome", outcome)
        failing = self._failing(known)
        fixed = Fixed(words=self._spoken)
        try:
            payoff = bind(self.reward, self.context, outcome, failing, fixed)
        except FormulaError as error:
            raise with_remedy(error, self._spoken) from None
        if failing is not None:
            self._check_sign(failing, payoff, known, fixed)
        if isinstance(payoff, FormulaPayoff):
            fields = {**self.context.words, **self.state.words}
            check_words(self.attributes, payoff.formula.compared, fields, self.words)
        if payoff.reach < math.inf:  # Larger numbers are refused, for their rewards overflow.
            is_state = outcome is self.state
            set_(self, "context", self.context.within(payoff.reach))
            set_(self, "state", self.state.within(payoff.reach))
            set_(self, "outcome", self.state if is_state else outcome.within(payoff.reach))
            payoff = payoff.parted(self.context, self.outcome)
        set_(self, "payoff", payoff)
        set_(self, "known", tuple(known.read(self.attributes.get(a, {})) for a in self.arms))
        set_(self, "_payoffs", {})

    @property
    def _spoken(self) -> WordsOfAttributes:
        """The words that each attribute is compared with."""
        return spoken(self.attributes, self.words)

    def _failing(self, attributes: Box) -> Formula | None:
        """Return the reward of a failure as a formula of all fields."""
        if self.failure is None:
            return None
        names = (*self.context, *self.outcome)
        words = {**self.context.words, **self._spoken}
        hidden = [name for name in names if name not in attributes and name not in self.context]
        written = self.failure if isinstance(self.failure, str) else repr(self.failure)
        try:
            formula = Formula(written, names, words, hidden=[*hidden, *self.context.implied])
            boxes = {**self.context, **attributes}
            # Raises if it is undefined somewhere.
            formula.enclose({name: (space.low, space.high) for name, space in boxes.items()})
        except FormulaError as error:
            told = with_remedy(error, self._spoken)
            unseen = error.text[error.start : error.stop] in self.state
            why = " (a failed pull shows no state)" if unseen else ""
            raise ProblemError(f"failure{why}: {told}") from None
        return formula

    def _check_sign(self, failing: Formula, payoff: Payoff, attributes: Box, fixed: Fixed) -> None:
        """Raise ProblemError if every failure would be worth more than any success."""
        boxes = {**self.context, **attributes}
        least = float(
            np.min(failing.enclose({name: (s.low, s.high) for name, s in boxes.items()}).low)
        )
        if least < payoff.whole_range[1]:  # quick, and nearly always so
            return
        successes = Box({**attributes, **self.state}).acting_as("state")
        highest = bind(self.reward, self.context, successes, fixed=fixed).whole_range[1]
        if least > highest:
            raise ProblemError(
                f"failure is the reward of a failed pull, and {least:g} is more than "
                f"the highest reward, {highest:g}: a minus is missing, or failures are wanted"
            )

    def payoff_of(self, arm: str) -> Payoff:
        """Return the reward of an arm as a function of the context and the state.

        >>> problem = Problem(
        ...     arms={"a": {"price": 1}, "b": {"price": 2}}, state={"x": Interval(0, 1)},
        ...     reward="x - price",
        ... )
        >>> problem.payoff_of("b").whole_range
        (-2.0, -1.0)
        """
        if not self.known[0] and self.failure is None:
            return self.payoff
        if arm not in self._payoffs:
            numbers = self.known[self.arms.index(arm)]
            names = self.outcome.names[: len(numbers)]
            fixed = Fixed(dict(zip(names, numbers, strict=True)), self._spoken)
            self._payoffs[arm] = bind(self.reward, self.context, self.state, fixed=fixed)
        return self._payoffs[arm]

    def outcome_of(self, arm: int, state: State) -> State:
        """Return the outcome of a pull that showed a state; `arm` is the arm's position."""
        ending = () if self.failure is None else (0.0,)
        return (*self.known[arm], *state, *ending)

    def failed_outcome_of(self, arm: int) -> State:
        """Return the outcome of a pull that failed; `arm` is the arm's position.

        The reward does not depend on the state then.  Any will do, so it is always the same.
        """
        if self.failure is None:
            raise InputError(
                "failed=True needs to know the reward of a failure: give failure=… to the problem"
            )
        state = (min(max(0.0, space.low), space.high) for space in self.state.values())
        nothing = (
            value if isinstance(space, Interval) else space.values[0]
            for value, space in zip(state, self.state.values(), strict=True)
        )
        return (*self.known[arm], *nothing, 1.0)

    @property
    def shown(self) -> Box:
        """The part of an outcome that a pull shows: the state, and whether the pull failed."""
        if not self.known[0]:
            return self.outcome
        ending = {} if self.failure is None else {FAILED: Finite([0, 1])}
        return Box({**self.state, **ending}).acting_as("state")

    def told(self, outcome: Sequence[float]) -> dict[str, Any]:
        """Return what is observed of an outcome: the fields of the state, or that it failed.

        >>> problem = Problem(
        ...     arms=["a"], state={"x": Interval(0, 1)}, reward="x", failure=-1
        ... )
        >>> problem.told((0.5, 0.0)), problem.told((0.5, 1.0))
        ({'x': 0.5}, {'failed': True})
        """
        if self.failure is not None and outcome[-1] > 0.0:
            return {FAILED: True}
        first = len(self.known[0])
        return self.state.fields(outcome[first : first + len(self.state)])

    def with_arms(self, arms: GivenArms) -> Problem:
        """Return the same problem with other arms; arms given by name keep their attributes.

        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
        ... )
        >>> problem.with_arms(["a", "b"]).arms
        ('a', 'b')
        """
        names = arm_names(arms)
        if self.attributes or isinstance(arms, Mapping):
            own = arms if isinstance(arms, Mapping) else {}
            if missing := [a for a in names if a not in own and a not in self.attributes]:
                names_of_known = ", ".join(self.outcome.names[: len(self.known[0])])
                raise ProblemError(f"arm {missing[0]!r} needs its attributes: {names_of_known}")
            known = {name: own.get(name, self.attributes.get(name, {})) for name in names}
            if arm_attributes(known) == self.attributes and names == self.arms:
                return self
            after = attribute_spaces(arm_attributes(known))
            texts = (self.reward.source, self.failure)
            heard = mentioned(texts, {**self.context.words, **self.state.words})
            words = words_left(self._spoken, after, heard, self.words)
            return self._with(arms=known, words=words)
        other = object.__new__(Problem)
        for name in (
            "context",
            "state",
            "reward",
            "failure",
            "attributes",
            "words",
            "outcome",
            "payoff",
        ):
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "arms", names)
        object.__setattr__(other, "known", ((),) * len(names))
        object.__setattr__(other, "_payoffs", {})
        return other

    def with_spaces(
        self,
        *,
        context: Mapping[str, Space] | None = None,
        state: Mapping[str, Space] | None = None,
    ) -> Problem:
        """Return the same problem with other spaces of its context or its state.

        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
        ... )
        >>> problem.with_spaces(context={"y": Interval(1, 2)}).payoff.whole_range
        (0.0, 2.0)
        """
        given = {"context": context, "state": state}
        return self._with(**{name: box for name, box in given.items() if box is not None})

    def _with(self, **changed: Any) -> Problem:
        """Return the problem with some of its parts changed."""
        return Problem(**{**self._parts(), **changed})

    def _parts(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {
            "arms": {arm: dict(self.attributes[arm]) for arm in self.arms}
            if self.attributes
            else self.arms,
            "context": dict(self.context) if self.context.has_fields else {},
            "state": dict(self.state),
            "reward": self.reward,
            "failure": self.failure,
            "words": self.words,
        }

    def with_reward(
        self,
        reward: Reward | Source,
        *,
        failure: float | str | None = None,
        words: Mapping[str, Iterable[str]] | None = None,
    ) -> Problem:
        """Return the same problem with another reward, another `failure`, and further `words`.

        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
        ... )
        >>> problem.with_reward("x + y").payoff(x=0.5, y=1)
        1.5
        """
        further: Any = self.words if words is None else words
        if isinstance(words, Mapping):  # otherwise it is refused
            known = further_words(words, attribute_spaces(self.attributes))
            names = dict.fromkeys([*self.words, *known])
            further = {
                name: list(dict.fromkeys([*self.words.get(name, ()), *known.get(name, ())]))
                for name in names
            }
        return self._with(
            reward=reward, failure=self.failure if failure is None else failure, words=further
        )

    def _repr_html_(self) -> str:
        """Return the problem as a table for a notebook."""
        source = self.reward.source
        reward = source if isinstance(source, str) else getattr(source, "__name__", repr(source))
        fields = [
            (role, f"{name}: {space}")
            for role, box in (("context", self.context), ("state", self.state))
            for name, space in box.items()
            if box.has_fields
        ]
        arms = [f"{arm}{_known(self.attributes.get(arm, {}))}" for arm in self.arms]
        failure = [] if self.failure is None else [("reward of a failure", str(self.failure))]
        rows = [
            ("arms", names(arms)),
            *fields,
            ("reward", reward),
            *failure,
        ]
        return block(html_table("Problem", (), rows, text_columns=2))

    def __reduce__(self) -> Any:
        """Pickle the problem by its constructor arguments."""
        return partial(type(self), **self._parts()), ()

    # Reading and writing files

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain values; raises `ProblemError` if the reward is a callable."""
        if not self.reward.is_formula:
            raise ProblemError(
                "a reward given as a Python callable cannot be written to a file; "
                "write it as a formula, or build the problem in code"
            )
        return {**self.outline(), "reward": reward_out(self.reward)}

    def __hash__(self) -> int:
        """Hash the arms, the spaces and the reward."""
        return hash((self.arms, self.context, self.state, self.reward, self.failure))

    def outline(self) -> dict[str, Any]:
        """Return the problem without its reward as plain values."""
        return outline_of(self._parts())

    def to_json(self) -> str:
        """Return the problem as JSON text."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()).decode(), indent=2)

    def to_toml(self) -> str:
        """Return the problem as TOML text."""
        return toml_of(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes) -> Problem:
        """Read a problem from JSON text."""
        if not isinstance(text, str | bytes):
            raise ProblemError(f"not a problem in JSON: given {shown(text)}, which is not text")
        try:
            return cls.from_dict(msgspec.json.decode(text))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ProblemError(f"not a problem in JSON: {printable(str(error))}") from None

    @classmethod
    def from_toml(cls, text: str | bytes) -> Problem:
        """Read a problem from TOML text.

        >>> Problem.from_toml('''
        ... arms = ["wifi", "lte"]
        ... reward = "min(bits, capacity)"
        ... [context]
        ... bits = [1, 2, 3, 4]
        ... [state]
        ... capacity = {low = 0, high = inf}
        ... ''').state
        Box(capacity=Interval(0, inf))
        """
        if isinstance(text, str) and text.endswith(".toml") and "\n" not in text:
            raise ProblemError(
                f"from_toml takes the text of a file: Path({shown(text)}).read_text()"
            )
        return cls.from_dict(toml_values(text, "a problem in TOML"))

    @classmethod
    def from_dict(cls, written: Any) -> Problem:
        """Build a problem from plain values; unknown keys raise `ProblemError`."""
        return cls(**parts_in(written))


def given_problem(value: Any) -> Problem:
    """Return a problem that a user gave; raises `ParameterError` if it is something else."""
    if isinstance(value, Problem):
        return value
    hint = "; read a file with Problem.from_toml(Path(…).read_text())" * isinstance(value, str)
    raise ParameterError(f"problem must be a Problem, given {shown(value)}{hint}")


def _known(attributes: Mapping[str, float | str]) -> str:
    """Return attributes as text in brackets."""
    stated = ", ".join(
        f"{name}={value if isinstance(value, str) else f'{value:g}'}"
        for name, value in attributes.items()
    )
    return f" ({stated})" if stated else ""
