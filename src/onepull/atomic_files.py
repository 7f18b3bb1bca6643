"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write(path: str | os.PathLike[str], text: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part."""
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
            error.filename = str(target)  # a full disk does not say whose
        raise
