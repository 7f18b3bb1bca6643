"""The public surface is what it says it is, and all of it is documented by example."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import onepull

ERRORS = [
    name for name in onepull.__all__ if name.endswith(("Error", "UnknownArm", "MissingExtra"))
]


def imported_for_type_checkers():
    tree = ast.parse(Path(onepull.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_names_are_the_same_to_type_checkers_and_at_run_time():
    homes = {name: f"onepull.{home}" for name, home in onepull._HOME_OF.items()}
    assert imported_for_type_checkers() == homes
    assert sorted(homes) == sorted(onepull.__all__)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        onepull.nonsense  # noqa: B018 - the access is the test


@pytest.mark.parametrize("name", [name for name in onepull.__all__ if name not in ERRORS])
def test_every_public_name_has_an_example(name):
    thing = getattr(onepull, name)
    texts = [inspect.getdoc(thing) or ""]
    if inspect.isclass(thing):
        texts += [inspect.getdoc(kind) or "" for kind in thing.__subclasses__()]
    assert any(">>>" in text for text in texts), f"{name} has no example"


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_an_onepull_error_with_a_meaning(name):
    error = getattr(onepull, name)
    assert issubclass(error, onepull.OnepullError)
    assert inspect.getdoc(error)
