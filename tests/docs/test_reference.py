"""Every public name is in the reference, once."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import onepull

DOCS = Path(__file__).parent.parent.parent / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

from public_names import PACKAGES, all_public_names, names_of  # noqa: E402 - found above

DIRECTIVE = re.compile(r"^```\{public-names\} (.+)$", re.MULTILINE)
DOCUMENTED = [
    name.path
    for page in sorted((DOCS / "reference").glob("*.md"))
    for modules in DIRECTIVE.findall(page.read_text())
    for module in modules.split()
    for name in names_of(module)
]


def test_every_public_name_is_in_the_reference():
    assert set(DOCUMENTED) == set(all_public_names())


def test_no_name_is_there_twice():
    assert [name for name, times in Counter(DOCUMENTED).items() if times > 1] == []


def test_what_onepull_offers_and_what_its_packages_offer_is_public():
    public = list(all_public_names().values())
    assert all(getattr(onepull, name) in public for name in onepull.__all__)
    for package in PACKAGES:
        module = sys.modules[f"onepull.{package}"]
        assert all(getattr(module, name) in public for name in getattr(module, "__all__", []))
