"""The dashboard in a real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from serving import Process, add_keys, decide, learn, observe, served, write_problem

from onepull.service.keys import Role

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("needs chromium: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install playwright"
)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TEXT = """
policy = "AdaptiveKL"
[problem]
arms = ["alpha", "beta"]
reward = "-first - tokens * each"
context = {tokens = {low = 10, high = 1000}}
state = {first = {low = 0, high = 10}, each = {low = 0, high = 0.1}}
[router]
fallback = "alpha"
"""
WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  console.error("refused by the policy:", event.violatedDirective, event.blockedURI);
});
"""
CUT_OFF = """
[...document.querySelectorAll("table.decisions, table.decisions tbody tr")]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => one.outerHTML)
"""
# Cells of a row that share some of the page, and what a table hides beside its scroll bar.
OVERLAPS = """
[...document.querySelectorAll("table.arms tr, table.decisions tr")].flatMap((row) => {
  const boxes = [...row.querySelectorAll(".name, .with-bar, .estimate, .request, .outcome")]
    .map((one) => [one.className, one.getBoundingClientRect()]);
  const meet = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return boxes.flatMap(([one, a], i) =>
    boxes.slice(i + 1).filter(([, b]) => meet(a, b)).map(([two]) => `${one} / ${two}`));
}).concat([...document.querySelectorAll(".scroll:has(.arms, .decisions)")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML))
"""
# Rows of a table whose cells do not end at the same height, so that their lines are broken.
UNEVEN = """
[...document.querySelectorAll("table.compared tr")].filter((row) => {
  const ends = [...row.children].map((cell) => cell.getBoundingClientRect().bottom);
  return Math.max(...ends) - Math.min(...ends) > 1;
}).map((row) => row.outerHTML)
"""
UNNAMED = """
[...document.querySelectorAll("button, select, input, textarea, a")]
  .filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length))
  .map((one) => one.outerHTML)
"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@contextmanager
def opened(browser, url, *, allowed=(), **options):
    """Open the page; at the end nothing was complained about, and no other host was asked."""
    context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.add_init_script(WATCH)
    complaints, hosts = [], set()
    page.on("console", lambda said: complaints.extend([said.text] * (said.type == "error")))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: hosts.add(urlsplit(asked.url).netloc))
    try:
        answer = page.goto(str(url))
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        yield page
    finally:
        context.close()
    assert [text for text in complaints if not any(part in text for part in allowed)] == []
    assert hosts == {urlsplit(str(url)).netloc}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(write_problem(tmp_path_factory.mktemp("page"), TEXT)) as client:
        learn(client, 20)
        yield client


def see(page, selector, text):
    """Wait until an element has a text."""
    playwright.expect(page.locator(selector)).to_contain_text(text, timeout=15_000)


def stats(client):
    return client.get("/v1/problems/llm/stats").json()


def test_numbers_and_pictures_follow_the_log(browser, client):
    with opened(browser, client.base_url) as page:
        before = stats(client)["sequence"]
        see(page, ".connection", "Live")
        see(page, "footer", f"event {before}")
        learn(client, 3)
        see(page, "footer", f"event {before + 6}")
        trials = stats(client)["policy"]["trials"]
        see(page, "#tile-learned", str(trials))
        playwright.expect(page.locator(".plot canvas")).to_have_count(2)
        # Alpha is better below 1.9 / 0.009 tokens, beta above.
        parts = page.locator(".strip-part")
        playwright.expect(parts).to_have_count(2)
        assert "alpha from 10 to 211" in parts.nth(0).get_attribute("title")
        see(page, "section:has(#traffic-title) .key", "beta")
        assert page.title() == "llm · onepull"


def test_a_click_explains_a_decision(browser, client):
    with opened(browser, client.base_url) as page:
        page.locator(".decisions tbody tr").first.click()
        see(page, "dialog.explain[open] h2", "Why ")
        see(page, "dialog.explain[open]", "The same request now")
        playwright.expect(page.locator("dialog.explain tbody tr")).to_have_count(2)
        page.keyboard.press("Escape")
        playwright.expect(page.locator("dialog.explain[open]")).to_have_count(0)
        # One step, since a closing dialog gives the focus back to where it was.
        page.locator(".decisions button.link").nth(1).press("Enter")
        see(page, "dialog.explain[open]", "The same request now")
        # A browser tells of a closed dialog later, when the next one may be open.
        page.evaluate("document.querySelector('dialog.explain').dispatchEvent(new Event('close'))")
        page.wait_for_timeout(300)
        see(page, "dialog.explain[open]", "The same request now")


def test_another_formula_is_tried_while_typing(browser, client):
    with opened(browser, client.base_url, allowed=("422",)) as page:
        page.locator("#formula").fill("-first")
        see(page, "#what-if-told", "−0.100 per request")
        row = page.locator("#what-if-told tbody tr", has_text="alpha")
        playwright.expect(row).to_contain_text("100\u202f%")
        page.locator("#formula").fill("-first if first <= 1.5 else -40")
        number = page.locator(".turn input").first
        playwright.expect(number).to_have_value("1.5")
        number.fill("3")
        playwright.expect(page.locator("#formula")).to_have_value("-first if first <= 3 else -40")
        page.locator("#formula").fill("-last")
        see(page, "#formula-said", "last")
        playwright.expect(page.locator("#formula")).to_have_attribute("aria-invalid", "true")
        page.locator("#formula").fill("-tokens * each")
        see(page, "#what-if-told tbody tr:first-child", "beta")
        page.get_by_role("button", name="Replay with learning").click()
        see(page, "#what-if-told", "replayed with learning")
        see(page, "#what-if-told", "was shown the logged outcomes of the arms that it chose")
        assert page.evaluate(UNEVEN) == []
    assert stats(client)["reward"] == "-first - tokens * each"


def test_a_formula_may_be_learned_again_from_the_log(browser, tmp_path):
    with served(write_problem(tmp_path, TEXT)) as client:
        learn(client, 4)
        with opened(browser, client.base_url) as page:
            page.locator("#formula").fill("-first")
            page.get_by_role("button", name="Use this formula").click()
            page.get_by_label("Learn all outcomes of the log again").check()
            page.get_by_role("button", name="Use formula").click()
            see(page, ".changes", "learned again with reward -first")
        told = stats(client)
    assert (told["reward"], told["policy"]["trials"]) == ("-first", 4)


def test_changes_are_asked_twice_and_logged(browser, tmp_path):
    with served(write_problem(tmp_path, TEXT)) as client:
        learn(client, 4)
        with opened(browser, client.base_url, allowed=("422",)) as page:
            page.get_by_role("button", name="Pause beta").click()
            see(page, "dialog.confirm[open]", "beta will not be chosen")
            page.get_by_role("button", name="Cancel").click()
            playwright.expect(page.locator("dialog[open]")).to_have_count(0)
            assert stats(client)["controls"]["paused"] == []
            confirm(page, "Pause beta")
            see(page, ".changes", "beta paused")
            assert stats(client)["controls"]["paused"] == ["beta"]
            confirm(page, "Resume beta")
            confirm(page, "Pin alpha")
            see(page, ".warnings", "alpha is pinned")
            assert stats(client)["controls"] == {"paused": [], "pinned": "alpha", "shares": {}}
            confirm(page, "Unpin alpha")
            page.get_by_role("button", name="Set the share of beta").click()
            page.get_by_label("At least").fill("80")
            page.get_by_label("At most").fill("20")
            page.get_by_role("button", name="Set share").click()
            see(page, "dialog.confirm[open] .problem", "least must not be above most")
            page.get_by_label("At most").fill("90")
            page.get_by_role("button", name="Set share").click()
            see(page, ".changes", "beta: share 80\u202f% to 90\u202f%")
            page.get_by_label("Mode").select_option("shadow")
            page.get_by_role("button", name="Switch to shadow").click()
            see(page, ".warnings", "Mode shadow")
        changes = client.get("/v1/problems/llm/changes").json()["changes"]
        assert [change["event"] for change in changes] == [
            "defined", "paused", "resumed", "pinned", "pinned", "shareset",
            "fallbackset", "modeset",
        ]  # fmt: skip


def confirm(page, name):
    page.get_by_role("button", name=name, exact=True).first.click()
    page.locator("dialog.confirm[open] button[type=submit]").click()
    playwright.expect(page.locator("dialog[open]")).to_have_count(0)


def test_a_restart_under_an_open_page_loses_nothing(browser, tmp_path):
    file, store = write_problem(tmp_path, TEXT), tmp_path / "log.db"
    first = Process(file, "--store", store)
    try:
        learn(first.client, 5)
        port = urlsplit(first.url).port
        # A service that stops refuses what it is asked meanwhile.
        with opened(browser, first.url, allowed=("net::ERR_", "503")) as page:
            see(page, "#tile-learned", "5")
            first.end()
            see(page, ".connection", "Disconnected")
            see(page, ".banner.bad", "does not answer")
            with Process(file, "--store", store, "--port", port) as second:
                see(page, ".connection", "Live")
                playwright.expect(page.locator(".banner.bad")).to_have_count(0)
                see(page, "#tile-learned", "5")
                learn(second.client, 2)
                see(page, "#tile-learned", "7")
                playwright.expect(page.locator(".decisions tbody tr")).to_have_count(7)
    finally:
        first.process.kill()


def test_a_key_is_asked_for_and_its_role_kept(browser, tmp_path):
    path, keys = add_keys(tmp_path)
    with (
        served(write_problem(tmp_path, TEXT), keys=str(path)) as client,
        opened(browser, client.base_url, allowed=("401",)) as page,
    ):
        page.get_by_label("Key", exact=True).fill("onepull_wrong")
        page.get_by_role("button", name="Use key").click()
        see(page, ".problem", "not known")
        page.get_by_label("Key", exact=True).fill(keys[Role.READER])
        page.get_by_role("button", name="Use key").click()
        see(page, ".top", "reader: look only")
        see(page, "#arms-title", "2")
        playwright.expect(page.get_by_role("button", name="Pause beta")).to_have_count(0)
        page.locator("#formula").fill("-first")
        see(page, "#what-if-told", "0 requests")


def test_many_arms_on_a_phone(browser, tmp_path):
    arms = [f"endpoint-{number:02d}" for number in range(50)]
    text = TEXT.replace('["alpha", "beta"]', str(arms)).replace('fallback = "alpha"', "")
    with served(write_problem(tmp_path, text)) as client:
        for arm in arms * 2:
            decision = decide(client, eligible=[arm])
            observe(client, {"id": decision["id"], "state": {"first": 1.2345, "each": 0.012345}})
        phone = {"viewport": {"width": 380, "height": 800}, "color_scheme": "dark"}
        with opened(browser, f"{client.base_url}/#/llm", **phone) as page:
            see(page, "section:has(#traffic-title) .key", "others")
            see(page, "section:has(#payoff-title) .note", "drawn for arms that are best somewhere")
            playwright.expect(page.locator("section:has(#traffic-title) .key li")).to_have_count(8)
            playwright.expect(page.locator("table.arms tbody tr")).to_have_count(10)
            page.get_by_label("Find an arm").fill("-49")
            playwright.expect(page.locator("table.arms tbody tr")).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            see(page, "table.decisions tbody tr:first-child", "each 0.0123")
            assert page.evaluate(CUT_OFF) == []
            page.get_by_label("Colours").select_option("light")
            assert (
                page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
            )


@pytest.mark.parametrize("width", [380, 700, 1280])
def test_long_names_are_told_apart_and_hide_nothing(browser, tmp_path, width):
    arms = [f"a-rather-long-name-of-an-endpoint-{number:02d}" for number in range(3)]
    text = TEXT.replace('["alpha", "beta"]', str(arms)).replace('fallback = "alpha"', "")
    text = text.replace("context = {", 'context = {tier = ["gold", "plain"], ')
    with served(write_problem(tmp_path, text)) as client:
        for arm in arms:
            context = {"tokens": 123.4, "tier": "plain"}
            decision = decide(client, eligible=[arm], context=context)
            observe(client, {"id": decision["id"], "state": {"first": 1.2345, "each": 0.012345}})
        screen = {"viewport": {"width": width, "height": 800}}
        with opened(browser, f"{client.base_url}/#/llm", **screen) as page:
            see(page, "table.decisions tbody tr:first-child", "each 0.0123")
            playwright.expect(page.locator("table.arms tbody tr")).to_have_count(3)
            assert page.evaluate(CUT_OFF) == []
            assert page.evaluate(OVERLAPS) == []
            ends = page.locator("table.arms .name-tail").all_inner_texts()
            assert sorted(end[-2:] for end in ends) == ["00", "01", "02"]


def test_nothing_yet_is_explained(browser, tmp_path):
    with served(write_problem(tmp_path, TEXT)) as client:
        with opened(browser, client.base_url) as page:
            see(page, "section:has(#traffic-title)", "No decision in the last 5 min")
            see(page, "section:has(#payoff-title)", "No estimate yet")
            see(page, "section:has(#decisions-title)", "curl -X POST")
            # Everything that can be used has a name.
            assert page.evaluate(UNNAMED) == []
            for mark in ("header", "main", "nav", "footer"):
                assert page.locator(mark).count() == 1
        with opened(browser, f"{client.base_url}/#/nobody") as page:
            see(page, "main", "No problem is called “nobody”")
            page.get_by_role("link", name="llm").click()
            see(page, ".connection", "Live")
