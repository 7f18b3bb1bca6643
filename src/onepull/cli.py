"""The `onepull` command."""

from __future__ import annotations

import click

from onepull import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onepull")
def main() -> None:
    """Choose an arm for each request when the payoff formula is known but the arms are not."""


@main.command()
@click.option("--trials", default=30_000, show_default=True, type=click.IntRange(1, 10_000_000))
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0))
def demo(trials: int, seed: int) -> None:
    """Watch three policies choose one of seven channels for every request."""
    from rich.console import Console, Group  # noqa: PLC0415 - so that --help stays quick
    from rich.live import Live  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from onepull.demo import Standing, race  # noqa: PLC0415

    def scoreboard(trial: int, standings: list[Standing]) -> Table:
        table = Table(title=f"Seven channels, four request sizes, {trial:,} requests")
        table.add_column("policy")
        table.add_column("learns from", style="dim")
        table.add_column("bits lost to not knowing", justify="right")
        table.add_column("best channel chosen", justify="right")
        learns = ("rewards, whatever the request", "rewards, request size by size")
        for standing, how in zip(standings, (*learns, "every pull, for every size"), strict=True):
            table.add_row(
                type(standing.policy).__name__,
                how,
                f"{standing.regret:,.0f}",
                f"{standing.hits / trial:.1%}",
            )
        return table

    console = Console()
    with Live(console=console, refresh_per_second=12) as live:
        for trial, standings in race(trials, seed, every=max(1, trials // 60)):
            live.update(scoreboard(trial, standings))
        explained = str(standings[-1].policy.explain(bits=3))
        live.update(Group(scoreboard(trial, standings), "", explained))
