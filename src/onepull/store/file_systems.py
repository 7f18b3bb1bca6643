"""Which file system a file is on, since SQLite's shared log needs a local one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from onepull.errors import StoreError

# Their locks or their shared memory do not reach other machines.
NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|ncpfs|afs|ceph|lustre|gpfs|beegfs|orangefs|pvfs2|ocfs2|gfs2|glusterfs"
    r"|davfs|fuse\.(?!(?:ext|ntfs|exfat|overlay)).*|virtiofs|vboxsf|prl_fs|drvfs"
)
MOUNTS = Path("/proc/self/mountinfo")


def file_system(path: Path, mounts: str) -> str:
    r"""Return the type of the file system that holds a path, from the text of the mount table.

    >>> table = "21 1 8:1 / / rw - ext4 /dev/sda rw\n22 21 0:5 / /srv/share rw - nfs4 host:/ rw"
    >>> file_system(Path("/srv/share/router.db"), table), file_system(Path("/srv/r.db"), table)
    ('nfs4', 'ext4')
    """
    found, longest = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        # The kernel writes a space as \040.
        folder = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if path.is_relative_to(folder) and len(folder) >= longest:  # the last one covers others
            found, longest = kind[0], len(folder)
    return found


def refuse_network(path: Path) -> None:
    """Raise StoreError if a path is on a network file system, where a shared log gets damaged."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return
    kind = file_system(Path(os.path.realpath(path)), mounts)
    if NETWORK.fullmatch(kind):
        raise StoreError(
            f"{path} is on a network file system ({kind}), where SQLite's write-ahead log may lose "
            "data; use a local disk, or Postgres for several machines"
        )
