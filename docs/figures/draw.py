"""Draw the figures that explain: ``python docs/figures/draw.py``, in a minute on two cores.

Each is an SVG with a background of its own, light or dark as the reader's screen is.  The regrets
in ``regret.svg`` are simulated, and those in ``router.svg`` come from ``router.json``, which
``benchmarks/router.py --json`` writes; the rest shows how things are connected.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from onepull import DCB, UCB1, MultiUCB, recommended, simulate
from onepull.environment import channel_selection

HERE = Path(__file__).parent
HORIZON, REPLICATIONS, SEED = 100_000, 200, 1

# The colours are Okabe and Ito's, lighter on dark, and told apart by the colour-blind.
STYLE = """
text{font:14px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}
.small{font-size:12px}.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.bold{font-weight:600}.soft{fill:#59636e}.mid{text-anchor:middle}.end{text-anchor:end}
.card{fill:#ffffff}.box{fill:#f3f6fa;stroke:#c8d1dc}.grid{stroke:#e3e8ee;fill:none}
.axis{stroke:#8b96a3;fill:none}.arrow{stroke:#59636e;fill:none;stroke-width:1.6}
.head{fill:#59636e}.line{fill:none;stroke-width:2.6;stroke-linejoin:round}
.a{stroke:#0072b2}.b{stroke:#b34700}.c{stroke:#00795a}.d{stroke:#a3487f}
.fa{fill:#0072b2}.fb{fill:#b34700}.fc{fill:#00795a}.fd{fill:#a3487f}
.hot{fill:#dcecfa;stroke:#0072b2}.cold{fill:#f3f6fa;stroke:#c8d1dc}.bonus{fill:#bcdcf5}
@media (prefers-color-scheme:dark){
text{fill:#e6e9ed}.soft{fill:#a3adb8}.card{fill:#161b22}.box{fill:#1f2630;stroke:#3b4654}
.grid{stroke:#2a323d}.axis{stroke:#6b7683}.arrow{stroke:#a3adb8}.head{fill:#a3adb8}
.a{stroke:#56b4e9}.b{stroke:#ff9d5c}.c{stroke:#3ecf9f}.d{stroke:#e59ac4}
.fa{fill:#56b4e9}.fb{fill:#ff9d5c}.fc{fill:#3ecf9f}.fd{fill:#e59ac4}
.hot{fill:#12344e;stroke:#56b4e9}.cold{fill:#1f2630;stroke:#3b4654}.bonus{fill:#23506f}}
"""


def sheet(width: int, height: int, title: str, body: Iterable[str]) -> str:
    """Return an SVG file with a title for those who cannot see it."""
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img" aria-label="{title}">'
            ),
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="card" width="{width}" height="{height}" rx="10"/>',
            (
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                'markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/>'
                "</marker></defs>"
            ),
            *body,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{words}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    """Return a rounded rectangle."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" class="{kind}"/>'
    )


def arrow(*points: tuple[float, float]) -> str:
    """Return an arrow through some points."""
    path = "L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path class="arrow" marker-end="url(#tip)" d="M{path}"/>'


def regret() -> str:
    """Draw what four policies lose on the paper's seven channels."""
    channels = channel_selection()
    problem = channels.problem
    result = simulate(
        channels,
        {
            "UCB1": UCB1(problem),
            "MultiUCB": MultiUCB(problem),
            "DCB": DCB(problem),
            "recommended": recommended(problem),
        },
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=SEED,
        checkpoints=range(HORIZON // 100, HORIZON + 1, HORIZON // 100),
    )
    left, right, top, bottom, highest = 72, 520, 62, 330, 18_000
    xs = [left + (right - left) * n / HORIZON for n in result.checkpoints]
    notes = {
        "UCB1": "ignores the kind of request",
        "MultiUCB": "learns each kind by itself",
        "DCB": "the paper's policy",
        "recommended": "",
    }
    body = [
        text(left, 30, "Reward lost while learning, seven channels", "bold"),
        text(
            left, 48, f"mean of {REPLICATIONS} runs of {HORIZON:,} requests; lower is better",
            "small soft",
        ),
    ]  # fmt: skip
    for tick in range(0, highest, 5000):
        y = bottom - (bottom - top) * tick / highest
        body += [
            f'<path class="grid" d="M{left} {y:.1f}H{right}"/>',
            text(left - 8, y + 4, f"{tick:,}", "small soft end"),
        ]
    for tick in range(0, HORIZON + 1, HORIZON // 4):
        x = left + (right - left) * tick / HORIZON
        body.append(text(x, bottom + 18, f"{tick:,}", "small soft mid"))
    body += [
        f'<path class="axis" d="M{left} {bottom}H{right}"/>',
        text((left + right) / 2, bottom + 38, "requests served", "small soft mid"),
    ]
    for colour, (name, note) in zip("dcba", notes.items(), strict=True):
        means = result.regrets[result.find(name)].mean(axis=0)
        ys = [bottom - (bottom - top) * value / highest for value in means]
        points = "L".join(
            f"{x:.1f} {y:.1f}" for x, y in zip([left, *xs], [bottom, *ys], strict=True)
        )
        body.append(f'<path class="line {colour}" d="M{points}"/>')
        nudge = {"DCB": -3, "recommended": 5}.get(name, 4)
        label = f"{name} <tspan class='f{colour} bold'>{means[-1]:,.0f}</tspan>"
        body.append(text(right + 10, ys[-1] + nudge, label))
        if note and name != "DCB":
            body.append(text(right + 10, ys[-1] + nudge + 17, note, "small soft"))
    return sheet(720, 380, "Regret of four policies on seven channels", body)


def router() -> str:
    """Draw what policies lose to a genie while endpoints change, as benchmarks/router.py found."""
    data = json.loads((HERE / "router.json").read_text("utf-8"))
    requests, seeds = data["requests"], data["seeds"]
    lines = {  # how the rows of the table begin, and how they are called here
        "EWMA (": "moving average, tuned",
        "CCB": "the paper's policy",
        "Greedy": "greedy",
        "AdaptiveKL": "onepull",
    }
    titles = {"worse": "the best gets worse", "better": "an idle one gets better",
              "deadline": "deadlines"}  # fmt: skip
    body = [
        text(24, 30, "Reward lost while routing to five endpoints that change and fail", "bold"),
        text(
            24, 48, f"mean of {seeds} worlds of {requests:,} requests, 50 in flight; "
            "lower is better", "small soft",
        ),
    ]  # fmt: skip
    for panel, (scenario, title) in enumerate(titles.items()):
        curves = {
            label: next(curve for row, curve in data["curves"][scenario].items()
                        if row.startswith(first))
            for first, label in lines.items()
        }  # fmt: skip
        left, top, bottom = 62 + panel * 222, 92, 262
        right, highest = left + 160, max(curve[-1] for curve in curves.values())
        body.append(text((left + right) / 2, 78, title, "mid"))
        step = next(s for s in (25, 50, 100, 250, 500, 1000, 2500, 5000) if 4 * s > highest)
        for tick in range(0, int(highest) + 1, step):
            y = bottom - (bottom - top) * tick / highest
            body += [
                f'<path class="grid" d="M{left} {y:.1f}H{right}"/>',
                text(left - 6, y + 4, f"{tick:,}", "small soft end"),
            ]
        body += [
            f'<path class="axis" d="M{left} {bottom}H{right}"/>',
            text(left, bottom + 18, "0", "small soft mid"),
            text(right, bottom + 18, f"{requests:,}", "small soft mid"),
        ]
        for colour, curve in zip("bcda", curves.values(), strict=True):
            spots = [(0.0, 0.0), *((i + 1.0, value) for i, value in enumerate(curve))]
            points = "L".join(
                f"{left + (right - left) * i / len(curve):.1f} "
                f"{bottom - (bottom - top) * value / highest:.1f}"
                for i, value in spots
            )
            body.append(f'<path class="line {colour}" d="M{points}"/>')
    for place, (colour, label) in enumerate(zip("bcda", lines.values(), strict=True)):
        x = 62 + (0, 192, 360, 480)[place]
        body += [
            f'<path class="line {colour}" d="M{x} 312H{x + 22}"/>',
            text(x + 30, 317, label, "small"),
        ]
    return sheet(720, 336, "Reward lost while routing to endpoints that change and fail", body)


def loop() -> str:
    """Draw who calls what."""
    body = [
        box(30, 30, 180, 120),
        text(120, 80, "your service", "mid bold"),
        text(120, 103, "gets a request,", "mid small soft"),
        text(120, 120, "uses one option", "mid small soft"),
        box(510, 30, 180, 120, "hot"),
        text(600, 80, "policy", "mid bold"),
        text(600, 103, "pull counts and means,", "mid small soft"),
        text(600, 120, "one set for each arm", "mid small soft"),
        arrow((214, 58), (506, 58)),
        text(360, 48, "choose(bits=3)", "mid mono"),
        arrow((506, 90), (214, 90)),
        text(360, 82, "“lte”", "mid mono"),
        arrow((214, 124), (506, 124)),
        text(360, 144, "observe(“lte”, capacity=2.0)", "mid mono"),
        text(360, 163, "at once, later, in batches, or never", "mid small soft"),
    ]
    return sheet(720, 182, "Your service calls choose and observe", body)


def one_pull() -> str:
    """Draw how one state teaches the estimate of every context."""
    rows = [(bits, min(bits, 2)) for bits in (1, 2, 3, 4)]
    body = [
        text(40, 36, "One request", "bold"),
        box(40, 52, 170, 58),
        text(125, 77, "a packet of 3 bits", "mid"),
        text(125, 97, "context", "mid small soft"),
        arrow((125, 112), (125, 140)),
        box(40, 144, 170, 58),
        text(125, 169, "sent over lte", "mid"),
        text(125, 189, "arm", "mid small soft"),
        arrow((125, 204), (125, 232)),
        box(40, 236, 170, 58, "hot"),
        text(125, 261, "capacity was 2", "mid"),
        text(125, 281, "state", "mid small soft"),
        text(290, 36, "A known formula", "bold"),
        text(500, 36, "teaches all four", "bold"),
    ]
    for i, (bits, value) in enumerate(rows):
        y = 54 + 60 * i
        body += [
            arrow((214, 265), (250, 265), (250, y + 24), (284, y + 24))
            if i < len(rows) - 1
            else arrow((214, 265), (284, y + 31)),
            box(288, y, 170, 48),
            text(373, y + 30, f"min({bits}, 2) = {value}", "mid mono"),
            arrow((462, y + 24), (496, y + 24)),
            box(500, y, 180, 48, "hot"),
            text(590, y + 21, f"lte, {bits} bit{'s' if bits > 1 else ''}", "mid"),
            text(590, y + 39, f"mean moves towards {value}", "mid small soft"),
        ]
    return sheet(720, 320, "One observed state updates the estimate of every context", body)


def two_ways() -> str:
    """Draw which estimates one pull updates, with and without the formula."""

    def table(x: float, hot: Sequence[int], title: str, note: str) -> list[str]:
        body = [text(x, 36, title, "bold"), text(x, 56, note, "small soft")]
        body += [text(x + 98 + 54 * c, 84, f"{c + 1}", "mid small soft") for c in range(4)]
        for r, arm in enumerate(("wifi", "lte", "5g")):
            y = 94 + 46 * r
            body.append(text(x + 60, y + 25, arm, "end"))
            for c in range(4):
                kind = "hot" if r == 1 and c in hot else "cold"
                body.append(box(x + 74 + 54 * c, y, 48, 38, kind))
                if kind == "hot":
                    body.append(text(x + 98 + 54 * c, y + 25, "✓", "mid bold"))
        body.append(text(x + 179, 250, "bits of a request", "mid small soft"))
        return body

    body = [
        *table(30, [2], "Learning from the reward", "one pull updates one estimate"),
        *table(390, range(4), "Learning from the state", "one pull updates a whole row"),
    ]
    return sheet(720, 270, "With the formula, one pull updates every context of an arm", body)


def index() -> str:
    """Draw estimates and bonuses of three arms."""
    left, scale = 100, 72
    arms = [
        ("wifi", 2.0, 0.87, "200 pulls"),
        ("lte", 2.6, 1.3, "90 pulls"),
        ("5g", 1.5, 4.1, "9 pulls"),
    ]
    body = [
        text(30, 34, "Choose the highest index: the estimate, plus what is not known yet", "bold"),
    ]
    for i, (arm, estimate, bonus, pulls) in enumerate(arms):
        y = 56 + 52 * i
        end = left + scale * (estimate + bonus)
        chosen = arm == "5g"
        body += [
            text(left - 12, y + 16, arm, "end bold" if chosen else "end"),
            text(left - 12, y + 33, pulls, "end small soft"),
            f'<rect x="{left}" y="{y}" width="{scale * estimate:g}" height="34" class="fa"/>',
            (
                f'<rect x="{left + scale * estimate:g}" y="{y}" width="{scale * bonus:g}" '
                'height="34" class="bonus"/>'
            ),
            f'<path class="line b" d="M{end:g} {y - 5}V{y + 39}"/>',
            text(
                end + 10,
                y + 22,
                "highest: chosen" if chosen else "index",
                "bold" if chosen else "soft",
            ),
        ]
    body += [
        '<rect x="100" y="222" width="14" height="14" class="fa"/>',
        text(121, 234, "estimate: mean reward for this request", "small"),
        '<rect x="380" y="222" width="14" height="14" class="bonus"/>',
        text(401, 234, "bonus: shrinks with every pull", "small"),
    ]
    return sheet(720, 256, "An index is an estimate plus a bonus", body)


def factorisation() -> str:
    """Draw how estimates are made from a context's and a state's features."""
    body = [
        text(30, 34, "When a pull shows a state x", "bold"),
        box(30, 50, 130, 54),
        text(95, 82, "state x", "mid"),
        arrow((164, 77), (206, 77)),
        box(210, 50, 130, 54),
        text(275, 82, "features ψ(x)", "mid"),
        arrow((344, 77), (386, 77)),
        box(390, 50, 300, 54, "hot"),
        text(540, 75, "mean of ψ for this arm", "mid bold"),
        text(540, 94, "R numbers and a pull count", "mid small soft"),
        text(30, 150, "When a request y arrives", "bold"),
        box(30, 166, 130, 54),
        text(95, 198, "request y", "mid"),
        arrow((164, 193), (206, 193)),
        box(210, 166, 130, 54),
        text(275, 198, "weights φ(y)", "mid"),
        arrow((344, 193), (386, 193)),
        box(390, 166, 300, 54),
        text(540, 191, "estimate = φ(y) · mean of ψ", "mid bold"),
        text(540, 210, "for every request, listed or not", "mid small soft"),
        arrow((540, 108), (540, 162)),
    ]
    return sheet(720, 245, "Estimates are products of context weights and state features", body)


def main() -> None:
    """Write every figure beside this file, or those that are named."""
    wanted = sys.argv[1:]
    for draw in (loop, one_pull, two_ways, index, factorisation, regret, router):
        if wanted and draw.__name__ not in wanted:
            continue
        path = HERE / f"{draw.__name__.replace('_', '-')}.svg"
        path.write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
