"""One worker: an event loop that listens on a socket and stops when it is told to."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from onepull.errors import ParameterError
from onepull.html import printable
from onepull.service.http.app import Application
from onepull.service.http.protocol import limited_protocol
from onepull.service.service import Service
from onepull.service.settings import ServiceSettings

BACKLOG = 1024


class Server(uvicorn.Server):
    """Drains before it stops: finishes what runs, ends streams, and accepts nothing new."""

    service: Service
    tell_started: Callable[[], object] | None = None  # called when requests are answered

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start."""
        await super().startup(sockets=sockets)
        if self.tell_started is not None:
            self.tell_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; a second Ctrl-C ends the wait for running requests, and the log is closed."""
        self.service.drain()
        await super().shutdown(sockets=sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def bound_socket(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens; raises ParameterError if the address is taken."""
    try:
        (family, kind, number, _, address), *_ = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listening = socket.socket(family, kind, number)
    except OSError as error:
        raise _not_bound(settings, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _not_bound(settings, error) from None
    listening.set_inheritable(True)
    return listening


def _not_bound(settings: ServiceSettings, error: OSError) -> ParameterError:
    where = f"{printable(settings.host)}:{settings.port}"
    return ParameterError(f"cannot listen on {where}: {error.strerror or error}")


def address_of(listening: socket.socket) -> str:
    """Return the address of a socket as a browser takes it."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def make_server(service: Service) -> Server:
    """Return a server of a service, with its limits."""
    settings = service.settings
    application = Application(service)
    options: dict[str, Any] = {
        "http": limited_protocol(
            application,
            head=settings.head,
            body=settings.body,
            seconds=settings.seconds,
            most=settings.connections,
        ),
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
        "date_header": False,
        "backlog": BACKLOG,
        "timeout_keep_alive": settings.idle,
        "timeout_graceful_shutdown": settings.drain,
    }
    made = Server(uvicorn.Config(application, **options))
    made.service = service
    return made
