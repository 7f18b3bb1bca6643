"""Tables, figures and HTML pages of simulation results.

`tables` and `figures` make tables and figures from a `Result`; `page` puts them into one HTML
file.  matplotlib is imported when a figure is drawn, rich when a table is printed.
"""

from onepull.report import figures
from onepull.report import result_tables as tables
from onepull.report.drawing import save, svg
from onepull.report.page import page
from onepull.report.page_parts import Code, Heading, Part, Picture, Text, Verdict
from onepull.report.result_tables import pulls, summary, tidy
from onepull.report.table import Table
from onepull.report.table_cells import Estimate, Span

__all__ = [
    "Code",
    "Estimate",
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
