"""Tables, figures and pages of what a simulation found: data first, ink last.

`tables` and `figures` make tables and figures from a `Result`; `page` sets them in one HTML
file.  matplotlib loads when something is drawn, rich when a table goes to a terminal.
"""

from onepull.report import figures
from onepull.report import result_tables as tables
from onepull.report.drawing import save, svg
from onepull.report.page import page
from onepull.report.page_parts import Code, Heading, Part, Picture, Text, Verdict
from onepull.report.result_tables import pulls, summary, tidy
from onepull.report.table import Table
from onepull.report.table_cells import Span

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
