"""Atomic writes of files."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write(path: str | os.PathLike[str], text: bytes) -> None:
    """Write a file atomically: a crash leaves either the old file or the new one."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(target)  # otherwise the error names the temporary file
        raise
