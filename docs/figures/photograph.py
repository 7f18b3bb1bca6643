"""Photograph the dashboard: ``python docs/figures/photograph.py``, in six minutes.

It starts the demonstration, waits until five minutes of traffic are on the page, and takes pictures
in Debian's chromium: ``dashboard-light.png``, ``dashboard-dark.png``, and with ``--phone FOLDER``
the whole page on a narrow screen, to look at.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
WIDE, NARROW = {"width": 1280, "height": 950}, {"width": 390, "height": 844}
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
ANOTHER = "-(first + tokens * each) - 0.0045 * price * tokens"  # three times as dear


@contextmanager
def demonstration() -> Iterator[str]:
    """Run the demonstration; the block gets its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "onepull", "serve", "--port", str(port), "--log", "json"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - fixed
    try:
        yield f"http://127.0.0.1:{port}/#/demo"
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def opened(browser: Browser, url: str, screen: Any, scheme: Any) -> Iterator[Page]:
    """Open the page on a screen of a size, in light or dark colours."""
    context = browser.new_context(viewport=screen, color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    page.locator(".connection", has_text="Live").wait_for()
    # Room for a scroll bar, which is not on the picture.
    page.evaluate("document.documentElement.style.scrollbarGutter = 'auto'")
    page.wait_for_timeout(3000)
    yield page
    context.close()


def photograph(page: Page, path: Path) -> None:
    """Take a picture of what is on the screen, in as many colours as it needs."""
    page.screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256)
    small.save(path, optimize=True)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=310.0, help="of traffic before")
    parser.add_argument("--phone", type=Path, help="where to put the pictures of a narrow screen")
    given = parser.parse_args()
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise SystemExit("needs chromium: apt-get install chromium")
    with demonstration() as url, sync_playwright() as started:
        time.sleep(given.seconds)
        browser = started.chromium.launch(executable_path=found, args=FLAGS)
        with opened(browser, url, WIDE, "light") as page:
            photograph(page, HERE / "dashboard-light.png")
        with opened(browser, url, WIDE, "dark") as page:
            page.locator("#formula").fill(ANOTHER)
            page.locator("#what-if-told tbody").first.wait_for()
            page.locator("#what-if-title").evaluate("one => one.scrollIntoView()")
            page.mouse.wheel(0, -20)
            page.wait_for_timeout(1000)
            photograph(page, HERE / "dashboard-dark.png")
        for scheme in ("light", "dark") if given.phone else ():
            with opened(browser, url, NARROW, scheme) as page:
                page.screenshot(path=given.phone / f"phone-{scheme}.png", full_page=True)
            with opened(browser, url, WIDE, scheme) as page:
                page.screenshot(path=given.phone / f"whole-{scheme}.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
