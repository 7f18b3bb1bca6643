"""Servers that do nothing but what cannot be left out, to compare the service with.

`echo` reads JSON and sends it back.  `commit` puts each object of a body into a SQLite file and
answers when all are on disk; what arrives while the disk is busy shares the next transaction.
"""

import asyncio
import queue
import socket
import sqlite3
import sys
import threading
from typing import Any

import msgspec
import uvicorn

decode = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]]).decode
encode = msgspec.json.Encoder().encode


async def _send(send: Any, body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", b"application/json"), length]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def echo(_scope: Any, receive: Any, send: Any) -> None:
    """Send JSON back."""
    await _send(send, encode(decode((await receive())["body"])))


class Commit:
    """Store bodies, many in a transaction."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._write, daemon=True).start()

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        """Answer when a body is on disk."""
        message = await receive()
        body = message["body"]
        while message.get("more_body", False):
            message = await receive()
            body += message["body"]
        told = decode(body)
        rows = [(one["id"], encode(one)) for one in (told if isinstance(told, list) else [told])]
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.put((loop, future, rows))
        await future
        await _send(send, b'{"learned":1}')

    def _write(self) -> None:
        database = sqlite3.connect(self._path, isolation_level=None)
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = full")
        database.execute("create table t (seq integer primary key, id text unique, body blob)")
        while True:
            jobs = [self._waiting.get()]
            while len(jobs) < 4000 and not self._waiting.empty():
                jobs.append(self._waiting.get())
            database.execute("begin immediate")
            rows = [row for _, _, rows in jobs for row in rows]
            database.executemany("insert into t (id, body) values (?, ?)", rows)
            database.execute("commit")
            jobs[0][0].call_soon_threadsafe(_done, [future for _, future, _ in jobs])


def _done(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


def main() -> None:
    """Serve on the port that is given."""
    kind, port, path = sys.argv[1:]
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(port)))
    listening.listen(1024)
    app = echo if kind == "echo" else Commit(path)
    options: dict[str, Any] = {
        "http": "httptools", "ws": "none", "lifespan": "off", "log_config": None,
        "access_log": False, "date_header": False, "server_header": False,
        "proxy_headers": False,
    }  # fmt: skip
    uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[listening])


if __name__ == "__main__":
    main()
