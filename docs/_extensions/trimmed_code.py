"""Leave out the blank line at the end of a code block, which doctest needs and readers do not."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def trim(app: Sphinx, doctree: nodes.document) -> None:
    """Trim every code block of a page."""
    del app
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.rawsource.rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the step."""
    app.connect("doctree-read", trim)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
