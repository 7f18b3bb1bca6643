"""Text for readers: made printable, and as HTML for notebooks, on a light and on a dark page.

Colours are inherited from the page, or are translucent.  Styles are inline and nothing is
loaded, so that the HTML looks the same wherever a notebook is shown.  All text is escaped.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Collection, Iterable, Sequence

LINE = "rgba(128,128,128,.55)"
MARK = "rgba(0,114,178,.2)"
CELL = "padding:.25em .8em;border:none;vertical-align:top"
NUMBER_STYLE = f"{CELL};text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
TEXT_STYLE = f"{CELL};text-align:left"
MOST_NAMES_IN_LIST = 12
LINE_BREAKS = "\n\t"  # in text of several lines
JOINERS = "\u200c\u200d"  # scripts and emoji need them


def printable(text: str, *, keep: str = "") -> str:
    r"""Return text in which every character shows: others are written as Python escapes them.

    Names come from files.  A control character in a name could command the terminal, reverse the
    text after it, or break an XML file.

    Parameters
    ----------
    keep
        Characters to leave as they are, such as line breaks in a longer text.

    Examples
    --------
    >>> print(printable("na\u00efve \x1b[31m \u202e \ud800\n"))
    naïve \x1b[31m \u202e \ud800\n
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or _shows(c) else _escape(c) for c in text)


def _shows(character: str) -> bool:
    if character.isprintable() or character in JOINERS:
        return True
    return unicodedata.category(character) == "Zs"  # spaces of any width


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def escape(text: str, *, keep: str = "") -> str:
    r"""Return text for an HTML or XML file: printable, and without markup.

    >>> escape("<b>" + chr(0))
    '&lt;b&gt;\\x00'
    """
    return html.escape(printable(text, keep=keep))


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text_columns: int = 1,
    marked: Collection[int] = (),
) -> str:
    """Return a table; the first columns are text, set to the left, and the others numbers.

    Parameters
    ----------
    columns
        The headings; none for a table without a heading row.
    text_columns
        How many of the columns are text.
    marked
        The positions of the rows to highlight.

    Examples
    --------
    >>> made = table("Regret", ["policy", "regret"], [["A & B", "1,150"]], marked=[0])
    >>> "A &amp; B" in made, made.count("<tr")
    (True, 2)
    """
    head = ""
    if columns:
        line = f"border-bottom:1px solid {LINE};font-weight:600;background:none"
        cells = "".join(
            f"<th scope='col' style='{_look(i, text_columns)};{line}'>{escape(name)}</th>"
            for i, name in enumerate(columns)
        )
        head = f"<thead><tr>{cells}</tr></thead>"
    body = "".join(
        f"<tr{_marked(r in marked)}>"
        + "".join(
            f"<td style='{_look(i, text_columns)}'>{escape(cell)}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for r, row in enumerate(rows)
    )
    caption = (
        "<caption style='caption-side:top;text-align:left;color:inherit;font-weight:600;"
        f"white-space:nowrap;padding:.25em .8em'>{escape(title)}</caption>"
    )
    return (
        "<table style='border-collapse:collapse;border:none;margin:.3em 0;color:inherit'>"
        f"{caption if title else ''}{head}<tbody>{body}</tbody></table>"
    )


def note(text: str) -> str:
    """Return a line of small text.

    >>> "x &lt; y" in note("x < y")
    True
    """
    look = "margin:.1em 0;padding:0 .8em;font-size:90%;opacity:.8"
    return f"<p style='{look}'>{escape(text, keep=LINE_BREAKS)}</p>"


def paragraph(text: str) -> str:
    """Return a paragraph.

    >>> "x &lt; y" in paragraph("x < y")
    True
    """
    return f"<p style='margin:.4em 0;padding:0 .8em'>{escape(text, keep=LINE_BREAKS)}</p>"


def code(text: str) -> str:
    """Return a line of code.

    >>> "DCB(problem)" in code("DCB(problem)")
    True
    """
    look = f"margin:.4em .8em;padding:.4em .6em;border-left:3px solid {LINE};white-space:pre-wrap"
    safe = escape(text, keep=LINE_BREAKS)
    return f"<pre style='{look};color:inherit;background:none'>{safe}</pre>"


def block(*parts: str) -> str:
    """Return parts in one block, which scrolls if it is wider than the page.

    >>> block(note("a"), note("b")).startswith("<div ")
    True
    """
    return f"<div style='max-width:100%;overflow-x:auto'>{''.join(parts)}</div>"


def names(given: Sequence[str]) -> str:
    """Return names as a list that stays short.

    >>> names(["wifi", "lte"])
    'wifi, lte'
    >>> names([f"server {i}" for i in range(500)])[-40:]
    ' 9, server 10, server 11, … (500 in all)'
    """
    if len(given) <= MOST_NAMES_IN_LIST + 1:
        return ", ".join(given)
    return f"{', '.join(given[:MOST_NAMES_IN_LIST])}, … ({len(given):,} in all)"


def _look(column: int, text_columns: int) -> str:
    return TEXT_STYLE if column < text_columns else NUMBER_STYLE


def _marked(is_marked: bool) -> str:  # noqa: FBT001 - a property of the row
    return f" style='background:{MARK}'" if is_marked else ""
