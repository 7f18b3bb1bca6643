"""`onepull serve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from onepull.errors import MissingExtra


@click.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--host", help="The address to listen on. [default: 127.0.0.1]")
@click.option("--port", type=int, help="The port; 0 for any free one. [default: 8000]")
@click.option("--workers", type=int, help="How many processes share the port. [default: 1]")
@click.option("--store", help="The SQLite file or Postgres address of the log.")
@click.option("--keys", help="The file of keys; see `onepull key`. [default: keys.json, if any]")
@click.option("--log", type=click.Choice(["auto", "json", "plain"]), help="How to write messages.")
@click.option("--log-requests", is_flag=True, default=None, help="Write a message per request.")
@click.option(
    "--compile",
    is_flag=True,
    default=None,
    help="Choose with compiled code: quicker, and takes 90 MB more; needs the 'simulate' extra.",
)
@click.option(
    "--redefine",
    is_flag=True,
    default=None,
    help="Let a file put another problem in the log, even if nothing learned can be kept.",
)
@click.option(
    "--error",
    type=float,
    help="If a file changes the reward or prices, accept estimates that are off by this much.",
)
@click.option(
    "--check", is_flag=True, help="Check SOURCE, its log and the settings; change nothing."
)
def command(source: Path | None, *, check: bool, **options: Any) -> None:
    """Serve decisions over HTTP, with a dashboard.

    SOURCE is the file of a problem or a folder of such files.  Without it, a demonstration is
    served: four endpoints with simulated traffic.

    Every option can also be an environment variable such as ONEPULL_PORT, or be in the table
    [service] of the file, or in service.toml of the folder.
    """
    try:
        import httptools  # noqa: F401, PLC0415 - the same
        import uvicorn  # noqa: F401, PLC0415 - only to see whether it is there
    except ImportError:
        raise MissingExtra.of("the service needs", "serve") from None
    from onepull.service.running.serving import check_source, serve  # noqa: PLC0415 - needs the extra

    if check:
        for line in list(check_source(source, options)):  # all of it, or what is wrong
            click.echo(line)
        return
    sys.exit(serve(source, options, prepare=_compile))


def _compile() -> None:
    """Compile decisions, in the process that serves."""
    from onepull.simulation.compile_decisions import compile_decisions  # noqa: PLC0415 - takes long

    compile_decisions()
