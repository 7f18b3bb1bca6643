"""Tables that can be written as JSON records, CSV, HTML, Markdown or text for a terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from onepull.errors import ParameterError
from onepull.html import escape, printable
from onepull.report.table_cells import (
    PLUS_MINUS,
    Estimate,
    Span,
    column_texts,
    is_number,
    json_value,
    spreadsheet_safe,
)

if TYPE_CHECKING:  # rich is imported only to print a table to a terminal
    from rich.table import Table as RichTable


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns, with a title and notes.

    Cells keep full precision; only the text for a reader is rounded.  A reader sees one
    column for cells that hold two numbers; CSV and JSON have two: `x low` and `x high` for a
    `Span`, `x` and `x ± 95 %` for an `Estimate`.  Text is made printable, except in `records`.

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
    >>> print(Table("Regret", ["policy", "regret"], [["DCB", Estimate(1150.234, 12.1)]]))
    Regret
      policy  regret ± 95 %
      DCB        1,150 ± 12
    """

    title: str
    columns: list[str]
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check that columns have different names and that every row has a cell for each."""
        names = self._flat_columns()
        if len(set(names)) != len(names):
            raise ParameterError(
                f"table {self.title!r} has two columns of the same name: {', '.join(names)}"
            )
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ParameterError(
                    f"table {self.title!r} has {len(self.columns)} columns, "
                    f"but row {number} has {len(row)} cells"
                )

    def __str__(self) -> str:
        """Return the table as plain text.

        >>> print(Table("Regret", ["policy", "regret"], [["DCB", 1150.2], ["UCB1", 17103.4]]))
        Regret
          policy  regret
          DCB      1,150
          UCB1    17,103
        """
        cells = [self._headers(), *self.texts()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        aligned = [">" if self._is_numeric(i) else "<" for i in range(len(self.columns))]
        lines = [
            "  ".join(f"{c:{a}{w}}" for c, a, w in zip(row, aligned, widths, strict=True)).rstrip()
            for row in cells
        ]
        texts = map(printable, [self.title, *self.notes])
        return "\n".join([next(texts), *(f"  {line}" for line in lines), *texts])

    def titled(self, title: str) -> Table:
        """Return a copy of the table with another title.

        >>> Table("Regret", ["policy"], [["DCB"]]).titled("Channels").title
        'Channels'
        """
        return replace(self, title=title)

    def texts(self) -> list[list[str]]:
        """Return the rows as a reader sees them."""
        columns = [column_texts(self._column(i)) for i in range(len(self.columns))]
        return [list(row) for row in zip(*columns, strict=True)]

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, with values that JSON can hold.

        NaN and infinities become None.
        """
        return [dict(zip(self._flat_columns(), row, strict=True)) for row in self._flat_rows()]

    def to_csv(self) -> str:
        r"""Return comma-separated values in full precision; a missing value is empty.

        Text that a spreadsheet would run as a formula gets an apostrophe in front.

        >>> Table("t", ["policy", "runs"], [["A, B", Span(0.1, float("nan"))]]).to_csv()
        'policy,runs low,runs high\n"A, B",0.1,\n'
        >>> Table("t", ["policy", "x"], [["=1+1", -1.5]]).to_csv()
        "policy,x\n'=1+1,-1.5\n"
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(
            map(spreadsheet_safe, row) for row in (self._flat_columns(), *self._flat_rows())
        )
        return text.getvalue()

    def to_html(self, anchor: str = "") -> str:
        """Return an HTML table; each number has its full value in a `data` element.

        Parameters
        ----------
        anchor
            The table's id in its page.

        Examples
        --------
        >>> "<th scope='row'>&lt;b&gt;</th>" in Table("t", ["arm"], [["<b>"]]).to_html()
        True
        """
        name = f" id='{escape(anchor)}'" if anchor else ""
        numeric = [self._is_numeric(i) for i in range(len(self.columns))]
        is_first = [i == 0 for i in range(len(self.columns))]
        head = "".join(
            f"<th scope='col'{_aligned(number)}>{escape(column)}</th>"
            for column, number in zip(self._headers(), numeric, strict=True)
        )
        body = "\n".join(
            f"<tr>{''.join(map(_html_cell, row, texts, is_first, numeric))}</tr>"
            for row, texts in zip(self.rows, self.texts(), strict=True)
        )
        notes = "".join(f"\n<p class='note'>{escape(note)}</p>" for note in self.notes)
        # A wide table scrolls on its own, so it must be reachable with the keyboard.
        return (
            f"<div class='table'{name}>\n<div class='scroll' tabindex='0'>\n<table>\n"
            f"<caption>{escape(self.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>{notes}\n</div>"
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return self.to_html()

    def to_markdown(self) -> str:
        """Return a Markdown table, with its title above and its notes below."""
        rules = ["---:" if self._is_numeric(i) else ":---" for i in range(len(self.columns))]
        lines = [list(map(_markdown, self._headers())), rules]
        lines += [list(map(_markdown, row)) for row in self.texts()]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"**{_markdown(self.title)}**", table, *map(_markdown, self.notes)])

    def to_rich(self) -> RichTable:
        """Return the table in the form that rich prints; the notes are not part of it.

        >>> Table("Regret", ["policy", "regret"], [["DCB", 1150.234]]).to_rich().columns[1].justify
        'right'
        """
        from rich import box, table  # noqa: PLC0415 - imported only for a terminal
        from rich.text import Text  # noqa: PLC0415 - the same

        # Text, not str: rich reads [brackets] in a str as markup.
        made = table.Table(
            title=Text(printable(self.title)), title_justify="left", box=box.SIMPLE_HEAD
        )
        for i, column in enumerate(self._headers()):
            made.add_column(Text(column), justify="right" if self._is_numeric(i) else "left")
        for row in self.texts():
            made.add_row(*map(Text, row))
        return made

    def _column(self, i: int) -> list[Any]:
        return [row[i] for row in self.rows if len(row) > i]

    def _is_numeric(self, i: int) -> bool:
        cells = [cell for cell in self._column(i) if cell is not None]
        return bool(cells) and all(map(is_number, cells))

    def _kind(self, i: int) -> type[Span | Estimate] | None:
        """Return the type of a column's cells if they hold two numbers each."""
        found = {type(cell) for cell in self._column(i)}
        return Span if Span in found else Estimate if Estimate in found else None

    def _headers(self) -> list[str]:
        """Return the names of the columns as a reader sees them."""
        return [
            f"{printable(column)} {PLUS_MINUS}" if self._kind(i) is Estimate else printable(column)
            for i, column in enumerate(self.columns)
        ]

    def _flat_columns(self) -> list[str]:
        names: list[str] = []
        for i, column in enumerate(self.columns):
            kind = self._kind(i)
            if kind is Span:
                names += [f"{column} low", f"{column} high"]
            elif kind is Estimate:
                names += [column, f"{column} {PLUS_MINUS}"]
            else:
                names.append(column)
        return names

    def _flat_rows(self) -> Iterator[list[Any]]:
        kinds = [self._kind(i) for i in range(len(self.columns))]
        for row in self.rows:
            cells: list[Any] = []
            for cell, kind in zip(row, kinds, strict=True):
                if kind is None or isinstance(cell, kind):
                    cells += (cell,) if kind is None else cell
                else:  # one number, or none, among cells of two
                    cells += (cell, None)
            yield list(map(json_value, cells))


def _aligned(number: bool) -> str:  # noqa: FBT001 - a property of the column
    return " class='number'" if number else ""


def _html_cell(cell: Any, shown: str, is_first: bool, numeric: bool) -> str:  # noqa: FBT001 - the same
    text = escape(shown)
    if is_first and not numeric:
        return f"<th scope='row'>{text}</th>"
    if not is_number(cell):
        return f"<td{_aligned(numeric)}>{text}</td>"
    ends = cell if isinstance(cell, (Span, Estimate)) else (cell,)
    value = " ".join("" if json_value(end) is None else str(json_value(end)) for end in ends)
    return f"<td{_aligned(numeric)}><data value='{value}'>{text}</data></td>"


def _markdown(text: str) -> str:
    """Escape the characters that Markdown reads as markup, and join lines into one."""
    one_line = printable(" ".join(text.split())).replace("&", "&amp;")
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", one_line)
