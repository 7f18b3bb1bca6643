"""A page stands alone: nothing fetched, nothing injected, every id its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from onepull.errors import ParameterError
from onepull.report import Heading, Picture, Text, Verdict, figures, page, pulls, summary

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def full(result, name="A report"):
    policy = result.policies[0]
    return page(
        name,
        [
            Text(f"First {policy}.\n\n- one\n- **two** `three`"),
            Heading("Regret"),
            summary(result, baseline=policy),
            Picture(figures.regret(result, title=policy), policy, f"Regret of {policy}."),
            Heading("Pulls", 3),
            Picture(figures.pulls(result, policy), "Pulls.", "Pulls of each arm."),
            Picture(figures.pulls(result, policy), "Again.", "Pulls of each arm."),
            pulls(result),
            Verdict(policy, True, policy),
            Verdict("no", False),
            Verdict("who knows", None),
        ],
    )


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        for name, value in attrs:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "src", "xlink:href", "srcset", "action", "data"}:
                self.links.append(value or "")
            self.links += re.findall(r"url\(([^)]*)\)", value or "") if name != "aria-label" else []

    def handle_data(self, data):
        self.text += data


PAGES: dict[str, str] = {}  # drawing takes a second, so pages that are only read are made once


@pytest.fixture(params=["result", "hostile"])
def html(request):
    if request.param not in PAGES:
        PAGES[request.param] = full(request.getfixturevalue(request.param))
    return PAGES[request.param]


def test_nothing_is_fetched(html):
    reader = Reader(html)
    assert reader.links
    assert all(link.startswith("#") for link in reader.links)
    assert not re.search(r"https?://|@import|@font-face", html)
    assert not reader.tags.keys() & {"script", "link", "iframe", "img", "object", "embed", "base"}
    assert "default-src 'none'" in html


def test_ids_are_unique_and_every_link_leads_to_one(html):
    reader = Reader(html)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_hostile_names_are_shown_as_they_are(hostile):
    reader = Reader(full(hostile, name=hostile.policies[0]))
    assert reader.text.count(hostile.arms[0]) >= 3
    assert reader.tags["title"] == reader.tags["h1"] == 1
    # In a drawing a long name is broken into lines, but its signs stay its own.
    assert 'id="x"' in reader.text


@pytest.mark.parametrize("html", ["result"], indirect=True)
def test_contents_lists_the_headings_in_order(html):
    nav = html[html.index("<nav") : html.index("</nav>")]
    assert re.findall(r'class="level-(\d)"><a href="#[\w-]+">([^<]*)<', nav) == [
        ("2", "Regret"),
        ("3", "Pulls"),
    ]
    assert "<nav" not in page("No headings", [Text("Text.")])


@pytest.mark.parametrize("html", ["result"], indirect=True)
def test_the_same_parts_give_the_same_page(html, result):
    assert full(result) == html


def test_text_is_paragraphs_lists_strong_and_code_and_else_escaped():
    html = Text("a <b>\n\n- x **y**\n- `**z** <i>`\n\n**not closed").to_html()
    assert html.splitlines()[1:-1] == [
        "<p>a &lt;b&gt;</p>",
        "<ul>",
        "<li>x <strong>y</strong></li>",
        "<li><code>**z** &lt;i&gt;</code></li>",
        "</ul>",
        "<p>**not closed</p>",
    ]


@pytest.mark.parametrize("level", [0, 1, 7])
def test_a_heading_of_another_level_is_refused(level):
    with pytest.raises(ParameterError, match="2 to 6"):
        Heading("x", level)


def test_a_picture_has_words_for_those_who_do_not_see_it(result):
    html = Picture(figures.regret(result), "Caption.", 'A "rising" line.').to_html("p")
    assert 'role="img" aria-label="A &quot;rising&quot; line."' in html
    assert "<figcaption>Caption.</figcaption>" in html
    assert html.count("<svg") == 1


@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium at /usr/bin/chromium")
def test_a_browser_shows_the_page(hostile, tmp_path):
    file, shot = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(full(hostile), encoding="utf-8")
    picture = _browse(tmp_path / "first", f"--screenshot={shot}", "--window-size=900,1400", file)
    assert shot.read_bytes().startswith(b"\x89PNG"), picture.stderr
    assert shot.stat().st_size > 20_000
    dom = Reader(_browse(tmp_path / "second", "--dump-dom", "--window-size=900,1400", file).stdout)
    assert dom.tags["table"] == 2
    assert dom.tags["svg"] == 3
    assert dom.tags["script"] == 0
    assert dom.tags["td"] > 20
    assert hostile.arms[0] in dom.text


def _browse(profile, *arguments):
    *options, file = arguments
    return subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *options, file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "HOME": str(profile)},
    )
