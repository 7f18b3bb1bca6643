"""Tables, figures and pages of what a simulation found: data first, ink last.

`tables` and `figures` make tables and figures from a `Result`; `page` sets them in one HTML
file.  matplotlib loads when something is drawn, rich when a table goes to a terminal.
"""

from onepull.report import figures, tables
from onepull.report.cells import Span
from onepull.report.ink import save, svg
from onepull.report.page import page
from onepull.report.parts import Code, Heading, Part, Picture, Text, Verdict
from onepull.report.table import Table
from onepull.report.tables import pulls, summary, tidy

__all__ = [
    "Code",
    "Heading",
    "Part",
    "Picture",
    "Span",
    "Table",
    "Text",
    "Verdict",
    "figures",
    "page",
    "pulls",
    "save",
    "summary",
    "svg",
    "tables",
    "tidy",
]
