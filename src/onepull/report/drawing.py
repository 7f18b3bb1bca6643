"""matplotlib, loaded when something is drawn: one style, and files that repeat byte for byte."""

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
FAINT = "#d9d9d9"
STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so layout is the same everywhere
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
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "none",  # text stays text: it can be selected, searched and read aloud
    "svg.hashsalt": "onepull",
}
# What each format calls the time it was made; naming it None leaves it out.
UNDATED: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style, whatever the user's settings are, and leave those as they were."""
    try:
        from matplotlib import style as styles  # noqa: PLC0415 - 0.6 s, for drawing only
    except ImportError:
        raise MissingExtra(
            "figures need the 'simulate' extra: pip install 'onepull[simulate]'"
        ) from None
    with styles.context(["default", STYLE]):
        yield


@contextmanager
def any_script() -> Iterator[None]:
    """Let text pass that our font has no glyphs for: who reads an SVG may have them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure to an .svg, .png or .pdf file, by the name's suffix.

    The same figure gives the same bytes, today and tomorrow.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> save(Figure(), "regret.gif")
    Traceback (most recent call last):
    onepull.errors.ParameterError: a figure is saved as .svg, .png or .pdf, given 'regret.gif'
    """
    write(path, _drawn(figure, kind_of(path)))


def kind_of(path: str | Path) -> str:
    """Return the format that a figure's file name asks for.

    >>> kind_of("regret.SVG")
    'svg'
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in UNDATED:
        raise ParameterError(f"a figure is saved as .svg, .png or .pdf, given {str(path)!r}")
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
