"""A report as a single HTML file, readable offline, in dark mode, in print and on a phone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from onepull.html import escape
from onepull.report.page_parts import Part

# The browser fetches nothing: the style is in the page, and there are no scripts.
CONTENT_SECURITY_OF_PAGE = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, parts: Sequence[Part]) -> str:
    """Return one HTML page with all parts and a table of contents.

    Examples
    --------
    >>> from onepull.report import Heading, Table, Text
    >>> html = page("Channels", [
    ...     Heading("Regret"),
    ...     Text("The lower the better."),
    ...     Table("At the horizon", ["policy", "regret"], [["DCB", 1150.2]]),
    ... ])
    >>> '<li class="level-2"><a href="#part-1">Regret</a></li>' in html
    True
    """
    body = "\n".join(part.to_html(f"part-{number}") for number, part in enumerate(parts, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_OF_PAGE}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_stylesheet()}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{_contents(body)}</header>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _contents(body: str) -> str:
    """Return links to the headings.  Text in the body is escaped, so only headings match."""
    found = re.findall(r'<h([23]) id="([^"]+)">(.*?)</h\1>', body, re.DOTALL)
    if not found:
        return ""
    items = "\n".join(
        f'<li class="level-{level}"><a href="#{anchor}">{text}</a></li>'
        for level, anchor, text in found
    )
    return f'<nav aria-label="Contents">\n<ul>\n{items}\n</ul>\n</nav>\n'


def _stylesheet() -> str:
    return (files("onepull.report") / "page.css").read_text(encoding="utf-8")
