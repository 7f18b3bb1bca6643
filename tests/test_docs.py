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
PROJECT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES = [
    *PROJECT,
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(onepull.__path__, "onepull.")
    if not name.endswith("__main__")
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^(`{3,}|:{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^):\s]+)\)")


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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
    text = FENCED.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        there = page.parent / target if target else page
        assert there.exists(), f"{name_of(page)} links to {link}"
        assert not anchor or anchor in anchors(there), f"{name_of(page)} links to {link}"


def test_every_page_of_the_site_is_in_a_table_of_contents():
    listed = {
        (page.parent / entry).resolve()
        for page in PAGES
        for toctree in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL
        )
        for entry in toctree.split()
        if not entry.startswith(":")
    }
    pages = {page.with_suffix("").resolve() for page in PAGES if page not in PROJECT}
    assert pages - listed == {(ROOT / "docs" / "index").resolve()}
