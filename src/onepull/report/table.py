"""A table as data: kept plain, written as JSON records, CSV, HTML, Markdown or to a terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from onepull.errors import ParameterError
from onepull.report.table_cells import Span, is_number, plain, shown

if TYPE_CHECKING:  # rich loads when a table goes to a terminal
    from rich.table import Table as RichTable


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns, with a title and notes.

    Cells keep full precision; only what is shown to a reader is rounded.  A column of
    `Span` cells is one column to a reader and two, `… low` and `… high`, as data.

    Examples
    --------
    >>> table = Table("Regret", ["policy", "regret"], [["DCB", 1150.234], ["UCB1", 17103.4]])
    >>> print(table.to_markdown())
    **Regret**
    <BLANKLINE>
    | policy | regret |
    | :--- | ---: |
    | DCB | 1,150 |
    | UCB1 | 17,103 |
    >>> table.records()[0]
    {'policy': 'DCB', 'regret': 1150.234}
    """

    title: str
    columns: list[str]
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what is not a table."""
        names = self._flat_columns()
        if len(set(names)) != len(names):
            raise ParameterError(f"table {self.title!r} names a column twice: {', '.join(names)}")
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ParameterError(
                    f"table {self.title!r} has {len(self.columns)} columns, "
                    f"but row {number} has {len(row)} cells"
                )

    def __str__(self) -> str:
        """Lay the table out in plain text.

        >>> print(Table("Regret", ["policy", "regret"], [["DCB", 1150.2], ["UCB1", 17103.4]]))
        Regret
          policy  regret
          DCB      1,150
          UCB1    17,103
        """
        cells = [self.columns, *([shown(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        aligned = [">" if self._is_numeric(i) else "<" for i in range(len(self.columns))]
        lines = [
            "  ".join(f"{c:{a}{w}}" for c, a, w in zip(row, aligned, widths, strict=True)).rstrip()
            for row in cells
        ]
        return "\n".join([self.title, *(f"  {line}" for line in lines), *self.notes])

    def titled(self, title: str) -> Table:
        """Return the same table under another title.

        >>> Table("Regret", ["policy"], [["DCB"]]).titled("Channels").title
        'Channels'
        """
        return replace(self, title=title)

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, of plain values ready for JSON.

        What is not a finite number becomes None.
        """
        return [dict(zip(self._flat_columns(), row, strict=True)) for row in self._flat_rows()]

    def to_csv(self) -> str:
        r"""Return comma-separated values in full precision; missing ones are empty.

        >>> Table("t", ["policy", "runs"], [["A, B", Span(0.1, float("nan"))]]).to_csv()
        'policy,runs low,runs high\n"A, B",0.1,\n'
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._flat_columns())
        writer.writerows(self._flat_rows())
        return text.getvalue()

    def to_html(self, anchor: str = "") -> str:
        """Return an HTML table; a number's full value stands in its `data` element.

        Parameters
        ----------
        anchor
            The id that the table goes by in its page.

        Examples
        --------
        >>> "<th scope='row'>&lt;b&gt;</th>" in Table("t", ["arm"], [["<b>"]]).to_html()
        True
        """
        name = f" id='{escape(anchor)}'" if anchor else ""
        numeric = [self._is_numeric(i) for i in range(len(self.columns))]
        head = "".join(
            f"<th scope='col'{_flush(number)}>{escape(column)}</th>"
            for column, number in zip(self.columns, numeric, strict=True)
        )
        body = "\n".join(
            f"<tr>{''.join(_html_cell(i, c, numeric[i]) for i, c in enumerate(row))}</tr>"
            for row in self.rows
        )
        notes = "".join(f"\n<p class='note'>{escape(note)}</p>" for note in self.notes)
        # A wide table scrolls by itself, so it must be reachable from the keyboard.
        return (
            f"<div class='table'{name}>\n<div class='scroll' tabindex='0'>\n<table>\n"
            f"<caption>{escape(self.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>{notes}\n</div>"
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return self.to_html()

    def to_markdown(self) -> str:
        """Return a Markdown table, headed by its title and followed by its notes."""
        rules = ["---:" if self._is_numeric(i) else ":---" for i in range(len(self.columns))]
        lines = [list(map(_markdown, self.columns)), rules]
        lines += [[_markdown(shown(cell)) for cell in row] for row in self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"**{_markdown(self.title)}**", table, *map(_markdown, self.notes)])

    def to_rich(self) -> RichTable:
        """Return the table for rich to print to a terminal; notes are left to the caller.

        >>> Table("Regret", ["policy", "regret"], [["DCB", 1150.234]]).to_rich().columns[1].justify
        'right'
        """
        from rich import box, table  # noqa: PLC0415 - loaded when a table goes to a terminal
        from rich.text import Text  # noqa: PLC0415 - the same

        # Text, not str: rich would read [brackets] in the name of an arm as markup.
        made = table.Table(title=Text(self.title), title_justify="left", box=box.SIMPLE_HEAD)
        for i, column in enumerate(self.columns):
            made.add_column(Text(column), justify="right" if self._is_numeric(i) else "left")
        for row in self.rows:
            made.add_row(*(Text(shown(cell)) for cell in row))
        return made

    def _column(self, i: int) -> list[Any]:
        return [row[i] for row in self.rows if len(row) > i]

    def _is_numeric(self, i: int) -> bool:
        cells = [cell for cell in self._column(i) if cell is not None]
        return bool(cells) and all(map(is_number, cells))

    def _spans(self, i: int) -> bool:
        return any(isinstance(cell, Span) for cell in self._column(i))

    def _flat_columns(self) -> list[str]:
        return [
            name
            for i, column in enumerate(self.columns)
            for name in ([f"{column} low", f"{column} high"] if self._spans(i) else [column])
        ]

    def _flat_rows(self) -> Iterator[list[Any]]:
        spans = [self._spans(i) for i in range(len(self.columns))]
        for row in self.rows:
            cells: list[Any] = []
            for cell, is_span in zip(row, spans, strict=True):
                cells += (cell or (None, None)) if is_span else (cell,)
            yield list(map(plain, cells))


def _flush(number: bool) -> str:  # noqa: FBT001 - a property of the column
    return " class='number'" if number else ""


def _html_cell(i: int, cell: Any, numeric: bool) -> str:  # noqa: FBT001 - the same
    text = escape(shown(cell))
    if i == 0 and not numeric:
        return f"<th scope='row'>{text}</th>"
    if not is_number(cell):
        return f"<td{_flush(numeric)}>{text}</td>"
    ends = cell if isinstance(cell, Span) else (cell,)
    value = " ".join("" if plain(end) is None else str(plain(end)) for end in ends)
    return f"<td{_flush(numeric)}><data value='{value}'>{text}</data></td>"


def _markdown(text: str) -> str:
    """Take every sign for itself, and keep to one line."""
    one_line = " ".join(text.split()).replace("&", "&amp;")
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", one_line)
