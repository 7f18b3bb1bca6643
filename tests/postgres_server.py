"""A throw-away Postgres server from Debian's package, on a unix socket, for the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DSN = "ONEPULL_TEST_POSTGRES"  # a database of your own, which the tests may fill


def programs() -> Path | None:
    """Return the folder of the newest server that is installed, None if there is none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[4])
    )
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def why_not() -> str:
    """Return why there can be no server, an empty text if there can."""
    if os.environ.get(DSN):
        return ""
    if programs() is None:
        return f"no Postgres server is installed (apt-get install postgresql), and {DSN} is not set"
    if os.getuid() == 0 and _user() is None:
        return "Postgres does not run as root, and there is no user postgres or nobody"
    return ""


def _user() -> str | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


@contextmanager
def server() -> Iterator[str]:
    """Start a server, and yield the address of an empty database."""
    if given := os.environ.get(DSN):
        yield given
        return
    folder = programs()
    assert folder is not None
    # Short, since the path of a socket may have about 100 characters.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    user = _user() if os.getuid() == 0 else None
    if user is not None:
        shutil.chown(home, user)

    def run(*command: str) -> None:
        done = subprocess.run(
            command, user=user, cwd=home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    options = f"-k {home} -c listen_addresses='' -c shared_buffers=8MB -c max_connections=60"
    try:
        run(f"{folder}/initdb", "-D", f"{home}/data", "-A", "trust", "-U", "onepull", "-E", "UTF8")
        run(
            f"{folder}/pg_ctl", "-D", f"{home}/data", "-o", options, "-l", f"{home}/log", "-w",
            "start",
        )  # fmt: skip
        try:
            yield f"postgresql://onepull@/postgres?host={home}"
        finally:
            run(f"{folder}/pg_ctl", "-D", f"{home}/data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
