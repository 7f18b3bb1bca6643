"""The parts of a page besides tables: headings, text, code, pictures and verdicts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from onepull.errors import ParameterError
from onepull.html import LINE_BREAKS, escape
from onepull.report.drawing import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Part(Protocol):
    """Anything that can be put on a page.

    `to_html` returns one HTML element with all text escaped.  Its id is `anchor`, and the ids
    inside it begin with `anchor`.  The page gives every part a different anchor, so all ids of
    a page differ.
    """

    def to_html(self, anchor: str = "") -> str:
        """Return the part as HTML."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; levels 2 and 3 are listed in the table of contents.

    >>> Heading("Regret & pulls").to_html("part-1")
    '<h2 id="part-1">Regret &amp; pulls</h2>'
    """

    text: str
    level: int = 2

    def __post_init__(self) -> None:
        """Check the level: 1 is the title of the page, and HTML has 6."""
        if self.level not in range(2, 7):
            raise ParameterError(f"the level of a heading must be 2 to 6, given {self.level!r}")

    def to_html(self, anchor: str = "") -> str:
        """Return the heading."""
        return f"<h{self.level}{_id(anchor)}>{escape(self.text)}</h{self.level}>"


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, separated by empty lines; lines that begin with "- " are a list.

    `**strong**` and backquoted code are marked up; all other text is shown as it is.

    >>> print(Text("**Paired** draws, so `p < q`.").to_html())
    <div class="text">
    <p><strong>Paired</strong> draws, so <code>p &lt; q</code>.</p>
    </div>
    """

    text: str

    def to_html(self, anchor: str = "") -> str:
        """Return the paragraphs."""
        blocks = [block.strip() for block in re.split(r"\n\s*\n", self.text) if block.strip()]
        body = "\n".join(map(_block, blocks))
        return f'<div class="text"{_id(anchor)}>\n{body}\n</div>'


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted text.

    >>> Code("a < 2").to_html()
    '<pre><code>a &lt; 2</code></pre>'
    """

    text: str

    def to_html(self, anchor: str = "") -> str:
        """Return the text, escaped."""
        return f"<pre{_id(anchor)}><code>{escape(self.text, keep=LINE_BREAKS)}</code></pre>"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with a caption and a text alternative for screen readers.

    >>> from matplotlib.figure import Figure
    >>> print(Picture(Figure(), "Regret.", "Two rising lines.").to_html("part-1")[:73])
    <figure id="part-1">
    <div class="card" tabindex="0"><svg role="img" aria-
    """

    figure: Figure
    caption: str
    alt: str

    def to_html(self, anchor: str = "") -> str:
        """Return the figure as SVG inside the page."""
        drawing = inline_svg(svg(self.figure), f"{anchor or 'figure'}-", self.alt)
        return (
            f'<figure{_id(anchor)}>\n<div class="card" tabindex="0">{drawing}</div>\n'
            f"<figcaption>{_inline(self.caption)}</figcaption>\n</figure>"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, whether it holds (None: not decided by the data), and the evidence.

    >>> print(Verdict("DCB loses less than UCB1", True, "1,150 against 17,103").to_html())
    <div class="verdict holds">
    <p><strong>✓ holds</strong> DCB loses less than UCB1</p>
    <p class="note">1,150 against 17,103</p>
    </div>
    """

    claim: str
    holds: bool | None
    because: str = ""

    def to_html(self, anchor: str = "") -> str:
        """Return the verdict in words and with a sign, not by colour alone."""
        kind, sign = _VERDICTS[self.holds]
        because = f'\n<p class="note">{_inline(self.because)}</p>' if self.because else ""
        return (
            f'<div class="verdict {kind}"{_id(anchor)}>\n'
            f"<p><strong>{sign}</strong> {_inline(self.claim)}</p>{because}\n</div>"
        )


_VERDICTS = {
    True: ("holds", "✓ holds"),
    False: ("fails", "✗ does not hold"),
    None: ("open", "? not decided"),
}


def inline_svg(drawing: str, prefix: str, alt: str) -> str:
    """Return an SVG file as an element of a page, with a prefix before each of its ids.

    >>> drawing = '<?xml version="1.0"?><svg xmlns="x"><a id="b"/><c d="url(#b)"/></svg>'
    >>> inline_svg(drawing, "p-", "A.")
    '<svg role="img" aria-label="A."><a id="p-b"/><c d="url(#p-b)"/></svg>'
    """
    element = drawing[drawing.index("<svg") :].strip()
    # Only inside tags: the drawn text may contain the same characters.
    element = re.sub(
        r"<[^<>]*>",
        lambda tag: re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", tag[0]),
        element,
    )
    # SVG inside HTML needs no namespaces.
    head, rest = element.split(">", 1)
    head = re.sub(r'\s+(xmlns(:\w+)?|version)="[^"]*"', "", head)
    return f'<svg role="img" aria-label="{escape(alt)}"{head.removeprefix("<svg")}>{rest}'


def _id(anchor: str) -> str:
    return f' id="{escape(anchor)}"' if anchor else ""


def _block(block: str) -> str:
    lines = block.splitlines()
    if all(line.startswith("- ") for line in lines):
        items = "\n".join(f"<li>{_inline(line[2:])}</li>" for line in lines)
        return f"<ul>\n{items}\n</ul>"
    return f"<p>{_inline(block)}</p>"


def _inline(text: str) -> str:
    """Escape the text, then mark up code and strong; code is not marked up further."""
    pieces = re.split(r"`([^`\n]+)`", escape(text, keep=LINE_BREAKS))
    pieces[::2] = [
        re.sub(r"\*\*(\S(?:.*?\S)?)\*\*", r"<strong>\1</strong>", p) for p in pieces[::2]
    ]
    pieces[1::2] = [f"<code>{code}</code>" for code in pieces[1::2]]
    return "".join(pieces)
