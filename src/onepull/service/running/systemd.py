"""Telling systemd that the service is ready, if systemd has started it and asks."""

from __future__ import annotations

import os
import socket

from onepull.service.running.json_log import tell


def tell_systemd_ready() -> None:
    """Tell systemd that requests are answered; does nothing where it has not started the service.

    It is a datagram to the socket that `NOTIFY_SOCKET` names; "@" stands for the NUL byte with
    which names outside the file system begin.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to_systemd:
            to_systemd.connect(address)
            to_systemd.sendall(b"READY=1")
    except OSError as error:  # the service runs all the same
        tell("systemd cannot be told", reason=str(error))
