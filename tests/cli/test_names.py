"""Names from files and from the command line: whatever they hold, they are printed as text."""

from __future__ import annotations

import csv
import html
import json
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from onepull.cli import main
from onepull.cli.output import progress
from onepull.html import printable
from onepull.report import Table

NASTY = {
    "markup": "x [/y] [bold",
    "a colour": "[red]x[/red] [link=http://a]b[/link] :smile:",
    "an escape": "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "controls": "a\x00b\x08\x7f\x85\x0b\x0cc",
    "lines": "a\nb\r\nc\td",
    "reversed": "a\u202eb\u2066c\u200fd\u2028e",
    "no characters": "a\ufffe\uffffb\U000e0041",
    "a formula": "=HYPERLINK(1)",
    "a command": "@SUM(1+1)*cmd|' /C calc'!A0",
    "a sign": "-2+3",
    "a tab": "\t=1+1",
    "tags": "</title><script>alert(1)</script>&amp;<b>",
    "an end": "]]> --> %s {0} {x} $x$ \\ ' \"",
    "wide": "名前 e\u0301 👩\u200d🔬",
}
ALLOWED = "\n\u200c\u200d"


def toml(text):
    """Return text as a TOML string, which is written like one of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def described(name):
    """Return an experiment in which every name that may be any text is this one."""
    return f"""
name = {toml(name)}
horizon = 60
replications = 3
baseline = {toml(name)}
[problem]
arms = [{toml(name)}, "other"]
context = {{size = [1, 2]}}
state = {{speed = [0.5, 2]}}
reward = "min(size, speed)"
[environment]
contexts = {{law = "discrete", values = [1, 2], probabilities = [0.5, 0.5]}}
[environment.states]
{toml(name)} = {{law = "discrete", values = [0.5, 2], probabilities = [0.5, 0.5]}}
other = {{law = "discrete", values = [0.5, 2], probabilities = [0.9, 0.1]}}
[[policies]]
policy = "DCB"
name = {toml(name)}
[[policies]]
policy = "UCB1"
"""


def is_clean(text):
    """Whether text commands nothing: no control or format characters, no other line ends."""
    return not [
        c for c in text if c not in ALLOWED and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl"}
    ]


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        done = CliRunner().invoke(main, list(map(str, arguments)), env={"COLUMNS": "3000"})
        assert done.exit_code == code, (done.output, done.exception)
        assert isinstance(done.exception, SystemExit | None)
        assert is_clean(done.output)
        return done

    return invoke


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        del attrs
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", [" ".join(NASTY.values()), NASTY["a formula"]])
def test_every_command_prints_every_name_as_text(call, tmp_path, name):
    (tmp_path / "e.toml").write_text(described(name), encoding="utf-8")
    shown = printable(name)
    assert shown in call("run", "e.toml", "--on", "serial").stdout
    assert shown in call("compare", "e", "--pulls").stdout
    found = json.loads(call("compare", "e", "--json").stdout)
    assert next(iter(found.values()))[0]["policy"] == name
    assert shown in call("theory", "e.toml").stdout
    call("plan", "e.toml", "--no-timing", "--replications", 2, "--picture", "plan.svg")
    call("report", "e")
    for kind in ("regret", "pulls"):
        call("plot", "e", "--kind", kind, "--policy", name, "--out", f"{kind}.svg")
    refused = call("compare", "e", "--baseline", f"no {name}", code=2)
    assert printable(name, keep="\n") in refused.stderr

    for file in ("plan.svg", "regret.svg", "pulls.svg"):
        drawing = (tmp_path / file).read_text(encoding="utf-8")
        assert is_clean(drawing)
        ET.fromstring(drawing)  # noqa: S314 - our own text
    page = (tmp_path / "e" / "report.html").read_text(encoding="utf-8")
    assert is_clean(page)
    read = Tags(page)
    assert "script" not in read.tags
    assert shown in read.text
    assert html.escape(shown) in page
    for part in page.split("<svg")[1:]:
        element = part[: part.index("</svg>")]
        ET.fromstring(f"<svg xmlns:xlink='x'{element}</svg>")  # noqa: S314 - our own text

    with (tmp_path / "e" / "result.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["policy"].removeprefix("'") == shown
    for row in rows:
        for cell in [*row, *row.values()]:
            assert is_clean(cell)
            assert is_number(cell) or not cell.startswith(tuple("=+-@\t\r"))
        assert is_number(row["regret"])


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ["[bold]x[y \x1b[31m \x9b2J \u202e", "a\nb\u2028c", "=1+1"])
def test_a_path_is_printed_as_text(call, tmp_path, name):
    file = tmp_path / f"{name}.toml"
    file.write_text(described("plain"), encoding="utf-8")
    call("run", file, "--on", "serial", "--out", tmp_path / name)
    call("compare", tmp_path / name, tmp_path / name)
    call("report", tmp_path / name)
    file.write_text("horizon")
    assert call("run", file, code=2).stderr.count("\n") <= 1 + name.count("\n")
    call("run", file, "--on", name, code=2)
    call("theory", file, "--application", name, code=2)


def test_a_path_that_is_no_text_is_printed(tmp_path):
    if sys.platform == "darwin":
        pytest.skip("names of files are text there")
    done = subprocess.run(
        [sys.executable, "-m", "onepull", "run", b"\xff\x1b.toml"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr == b"onepull: \\udcff\\x1b.toml: No such file or directory\n"


@pytest.mark.parametrize("name", NASTY.values(), ids=NASTY)
def test_progress_shows_names_as_text(name, monkeypatch):
    shown: list[Console] = []

    def console(**options):
        shown.append(Console(force_terminal=True, record=True, width=200, **options))
        return shown[-1]

    monkeypatch.setattr("onepull.cli.output.Console", console)
    with progress(name) as update:
        update(name, 10, 1, 2)
        update(f"{name}!", 10, 2, 2)
    assert f"{printable(name)}!" in shown[0].export_text()


@given(st.text())
def test_what_is_printable_stays_and_the_rest_shows(text):
    found = printable(text)
    assert is_clean(found.replace("\n", "\0"))
    found.encode()
    ET.fromstring(f"<a>{html.escape(found)}</a>")  # noqa: S314 - our own text
    if text.isprintable():
        assert found == text
    assert printable(found) == found


@given(st.text(alphabet=st.characters(), max_size=8), st.floats())
def test_a_cell_never_runs_in_a_spreadsheet(text, number):
    table = Table(text, ["name", "value"], [[text, number]])
    row = list(csv.reader(table.to_csv().splitlines()))[1]
    assert is_number(row[0]) or not row[0].lstrip().startswith(tuple("=+-@\t\r＝＋－＠"))
    assert row[1] in ("", repr(number))
