"""Drawing with matplotlib: one style, and equal files for equal figures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onepull.atomic_files import write
from onepull.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#222222"
GRID_COLOUR = "#d9d9d9"
STYLE = {
    # DejaVu Sans comes first and with matplotlib, so the layout is the same everywhere.  An SVG
    # names the others, too, for readers who do not have it.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#888888",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 12,
    "grid.color": GRID_COLOUR,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.constrained_layout.w_pad": 0.1,  # inches; the text of others may be a little wider
    "figure.constrained_layout.h_pad": 0.1,
    "svg.fonttype": "none",  # keep text as text, which can be selected and searched
    "svg.hashsalt": "onepull",
}
# The metadata with dates and versions in each format; None leaves an entry out.
UNDATED: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


@contextmanager
def style() -> Iterator[None]:
    """Use our style inside the block, independent of the user's settings."""
    try:
        from matplotlib import style as styles  # noqa: PLC0415 - 0.6 s, only for drawing
    except ImportError:
        raise MissingExtra.of("figures need", "simulate") from None
    with styles.context(["default", STYLE]):
        yield


@contextmanager
def any_script() -> Iterator[None]:
    """Silence warnings about missing glyphs: the reader of an SVG may have the font."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure to an .svg, .png or .pdf file, by the name's suffix.

    Equal figures give equal files.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> save(Figure(), "regret.gif")
    Traceback (most recent call last):
    onepull.errors.ParameterError: a figure file must be .svg, .png or .pdf, given 'regret.gif'
    """
    write(path, _drawn(figure, kind_of(path)))


def kind_of(path: str | Path) -> str:
    """Return the format of a figure file from its suffix.

    >>> kind_of("regret.SVG")
    'svg'
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in UNDATED:
        raise ParameterError(f"a figure file must be .svg, .png or .pdf, given {str(path)!r}")
    return kind


def svg(figure: Figure) -> str:
    """Return a figure as SVG text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> svg(Figure()).startswith("<?xml")
    True
    """
    return _drawn(figure, "svg").decode()


def _drawn(figure: Figure, kind: str) -> bytes:
    target = io.BytesIO()
    with style(), any_script() if kind == "svg" else nullcontext():
        figure.savefig(target, format=kind, dpi=200, metadata=UNDATED[kind])
    return target.getvalue()
