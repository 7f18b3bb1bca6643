"""Processes that are killed while they write a file, and what must hold after each kill.

This is a program of its own: it forks for every kill, which takes far longer in a process as large
as one that runs tests.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from onepull.atomic_files import write

KILLS = 120
TEXTS = [bytes([letter]) * size for letter, size in ((97, 10), (98, 50_000), (99, 500_000))]


def killed_after(seconds: float, path: Path) -> None:
    """Write a file in a forked process again and again, and kill the process."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                for text in TEXTS:
                    write(path, text)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def killed(path: Path) -> int:
    """Kill many times, and check after each; return how often a part of a file was left."""
    path.write_bytes(TEXTS[0])
    left = 0
    for i in range(KILLS):
        killed_after(0.0005 * (i % 20), path)
        names = {p.name for p in path.parent.iterdir()}
        assert {path.name} <= names <= {path.name, f".{path.name}.part"}
        assert path.read_bytes() in TEXTS
        left += len(names) - 1
    return left


if __name__ == "__main__":
    print(killed(Path(sys.argv[1])))  # noqa: T201 - the result
