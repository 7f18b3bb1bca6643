"""CONTRIBUTING shows the layers that are enforced."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def enforced():
    """Return the layers of pyproject.toml, the highest first, each as a set of modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [set(re.findall(r"\w+", layer)) for layer in layers]


def shown():
    """Return the layers of the picture: names in front of two spaces, what they are behind."""
    block = next(
        b for b in re.findall(r"^```text\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    )
    left = [re.split(r"  +", line)[0] for line in block.splitlines()]
    return [set(re.findall(r"\w+", names)) for names in left]


def test_the_layers_shown_are_the_layers_enforced():
    assert shown() == enforced()


def test_every_make_target_shown_exists():
    targets = re.findall(r"^make (\w+)", CONTRIBUTING, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_place_to_look_in_exists():
    table = CONTRIBUTING.partition("| to change | look in |")[2].partition("\n\n")[0]
    named = re.findall(r"`([\w/]+(?:/|\*?\.py))`", table)
    assert len(named) > 20
    for name in named:
        assert list((ROOT / "src" / "onepull").glob(name.rstrip("/"))), name
