"""CITATION.cff agrees with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import onepull

ROOT = Path(__file__).parent.parent.parent
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def value(key):
    found = re.search(rf"^{key}: (.+)$", CITATION, re.MULTILINE)
    assert found, key
    return found[1]


def test_name_version_and_licence_are_the_package_s():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert value("title") == project["name"]
    assert value("version") == project["version"] == onepull.__version__
    assert value("license") == project["license"]


def test_one_sentence_says_what_it_is_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [
        CITATION,
        *((ROOT / p).read_text(encoding="utf-8") for p in ("README.md", "docs/index.md")),
    ]
    assert all(project["description"] in " ".join(text.split()) for text in texts)
