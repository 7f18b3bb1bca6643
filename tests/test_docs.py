"""Every Python snippet in the documentation runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import onepull

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(onepull.__path__, "onepull.")
    if not name.endswith("__main__")
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    for block in BLOCK.findall(page.read_text()):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, page.name, None, 0)
            runner.run(test, clear_globs=False)
            namespace |= test.globs
        else:
            exec(compile(block, page.name, "exec"), namespace)  # noqa: S102 - our own text
    assert runner.failures == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_of(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def anchors(page):
    """Return what the headings of a page go by in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\(([^):\s]+)\)", page.read_text()):
            target, _, anchor = link.partition("#")
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {link}"
            assert not anchor or anchor in anchors(there), f"{page.name} links to {link}"
