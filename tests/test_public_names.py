"""The public surface is what it says it is, and all of it is documented by example."""

from __future__ import annotations

import inspect

import pytest

import onepull

ERRORS = [name for name in onepull.__all__ if name.endswith(("Error", "UnknownArm"))]


def test_all_is_sorted_the_way_ruff_sorts_and_complete():
    public = {name for name, value in vars(onepull).items() if _is_ours(name, value)}
    assert public == set(onepull.__all__)


def _is_ours(name, value):
    return not name.startswith("_") and not inspect.ismodule(value)


@pytest.mark.parametrize("name", [name for name in onepull.__all__ if name not in ERRORS])
def test_every_public_name_has_an_example(name):
    thing = getattr(onepull, name)
    texts = [inspect.getdoc(thing) or ""]
    texts += [inspect.getdoc(kind) or "" for kind in thing.__subclasses__()]
    assert any(">>>" in text for text in texts), f"{name} has no example"


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_an_onepull_error_with_a_meaning(name):
    error = getattr(onepull, name)
    assert issubclass(error, onepull.OnepullError)
    assert inspect.getdoc(error)
