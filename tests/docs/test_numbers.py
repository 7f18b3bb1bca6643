"""Pages that state the same measured number agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TIME = re.compile(r"(\d+ to \d+)\sµs\swith\s`recommended`")


@pytest.mark.parametrize("page", ["docs/how-to/route-requests.md"])
def test_the_time_of_the_recommended_policy_is_that_of_the_readme(page):
    (stated,) = TIME.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert TIME.findall((ROOT / page).read_text(encoding="utf-8")) == [stated]
