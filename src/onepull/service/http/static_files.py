"""The files of the dashboard, from memory, with their ETags."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "dashboard"
TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".mjs": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".ico": b"image/x-icon",
    ".json": b"application/json",
    ".txt": b"text/plain; charset=utf-8",
    ".woff2": b"font/woff2",
}
# Scripts, styles, pictures and data from this server only, and none inside a page.
CONTENT_SECURITY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)


class StaticFile(NamedTuple):
    """One file as it is sent."""

    kind: bytes
    etag: bytes
    content: bytes


class StaticFiles:
    """The files of a folder, by their path in an address; read again when one changes.

    Examples
    --------
    >>> StaticFiles(FOLDER).find("/../keys.py") is None
    True
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int], StaticFile]] = {}
        # Only these can be found, whatever an address says.
        self._paths = self._listed()

    def _listed(self) -> dict[str, Path]:
        return {
            f"/{path.relative_to(self._folder).as_posix()}": path
            for path in sorted(self._folder.rglob("*"))
            if path.suffix in TYPES and path.is_file()
        }

    def find(self, address: str) -> StaticFile | None:
        """Return the file of an address; None if there is none."""
        name = "/index.html" if address == "/" else address
        path = self._paths.get(name)
        if path is None:
            return None
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self._known.get(name)
            if known is None or known[0] != stamp:
                content = path.read_bytes()
                etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'.encode()
                known = stamp, StaticFile(TYPES[path.suffix], etag, content)
                self._known[name] = known
        except OSError:
            return None
        return known[1]
