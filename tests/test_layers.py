"""The layers of pyproject.toml hold, and the library stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_each_layer_knows_only_those_below_it():
    # In a process of its own: import-linter turns off the loggers that exist, of all packages.
    given = f"config_filename={str(ROOT / 'pyproject.toml')!r}, no_cache=True"
    code = f"from importlinter.cli import lint_imports; raise SystemExit(lint_imports({given}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_importing_the_library_brings_numpy_and_msgspec_only():
    heavy = ["click", "rich", "numba", "matplotlib", "starlette", "uvicorn", "dask", "psycopg"]
    code = f"import sys, onepull, onepull.testing; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
