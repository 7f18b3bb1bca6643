"""Errors of files and bodies say what was given, what is allowed, and where."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepull.decoding import complaint, converted
from onepull.errors import ProblemError

Whole = Annotated[int, msgspec.Meta(ge=1, le=9)]


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    mode: Literal["live", "shadow", "off"] = "live"
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=3)] = "a"
    numbers: list[Whole] = []


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    inner: Inner
    table: dict[str, float | str] = {}
    either: str | Inner | None = None
    many: Annotated[list[Inner], msgspec.Meta(max_length=2)] = []
    is_on: bool = False


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "field 'inner' is missing"),
        (5, "must be a table, given 5"),
        ({"iner": {}}, "unknown field 'iner', did you mean 'inner'? The fields are inner, table, "),
        ({"inner": {}, "zzz": 1}, "unknown field 'zzz'; the fields are inner, table, either, many"),
        ({"inner": {"mod": 1}}, "in 'inner': unknown field 'mod', did you mean 'mode'? The fields"),
        ({"inner": {"mode": "on"}}, "'inner.mode' must be one of live, off, shadow, given 'on'"),
        ({"inner": {"share": 2}}, "'inner.share' must be a number above 0 and below 1, given 2"),
        ({"inner": {"name": ""}}, "'inner.name' must be text of 1 to 3 characters, given ''"),
        ({"inner": {"numbers": [3, 10]}}, "'inner.numbers[1]' must be a whole number from 1 to 9"),
        ({"inner": {"numbers": "3"}}, "'inner.numbers' must be a list, given '3'"),
        ({"inner": {}, "table": {"a": 1, "b": []}}, "'table.b' must be a number or text, given []"),
        ({"inner": {}, "many": [{}, {"mode": 1}]}, "'many[1].mode' must be one of live, off"),
        ({"inner": {}, "many": [{}, {}, {}]}, "'many' must be a list of at most 2 entries, given"),
        ({"inner": {}, "either": 5}, "'either' must be text, a table or null, given 5"),
        ({"inner": {}, "is_on": "yes"}, "'is_on' must be true or false, given 'yes'"),
    ],
)
def test_words(given_, words):
    with pytest.raises(ProblemError) as caught:
        converted(given_, Outer, "a test")
    assert str(caught.value).startswith(f"not a test: {words}")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["inner", "mode", "share", "many", "table", "either", "x", "a.b", "`"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=values)
def test_any_value_gets_words_of_our_own(value: Any) -> None:
    try:
        msgspec.convert(value, Outer)
    except msgspec.ValidationError as error:
        told = complaint(error, Outer, value)
        assert told.words
        for foreign in ("Expected", "Object contains", "got `", "$."):
            assert foreign not in told.words.replace(repr(value), "")
