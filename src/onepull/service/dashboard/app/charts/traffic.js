/** Traffic share per arm over time, as stacked areas. */
import { html, useMemo, useState } from "../../vendor/htm-preact-3.1.1.js";
import { OTHERS } from "../arm_marks.js";
import { duration, moment, percent } from "../format.js";
import { colour, tint } from "../theme.js";
import { ArmKey } from "./arm_key.js";
import { Plot, axis, labelWidth, shortName, writeLabels } from "./plot.js";

const SPANS = [
  [60, "1 min"], [300, "5 min"], [900, "15 min"], [3600, "1 h"], [86_400, "24 h"],
  [2_592_000, "30 days"],
];

/**
 * The share of each group in each bucket; a bucket without traffic has none.
 * @param {import("../types.js").Timeline} timeline
 * @param {string[]} leading
 * @returns {{times: number[], totals: number[], groups: {name: string, counts: number[]}[]}}
 */
export function grouped(timeline, leading) {
  const rows = Object.entries(timeline.arms);
  const length = rows[0]?.[1].decisions.length ?? 0;
  const times = Array.from({ length }, (_, i) => timeline.start + (i + 0.5) * timeline.width);
  const totals = Array(length).fill(0);
  const rest = Array(length).fill(0);
  let hasRest = false;
  for (const [arm, { decisions }] of rows) {
    const isRest = !leading.includes(arm);
    hasRest ||= isRest;
    for (let i = 0; i < length; i++) {
      totals[i] += decisions[i];
      if (isRest) rest[i] += decisions[i];
    }
  }
  const groups = leading.map((name) => ({
    name,
    counts: timeline.arms[name]?.decisions ?? Array(length).fill(0),
  }));
  if (hasRest) groups.push({ name: OTHERS, counts: rest });
  return { times, totals, groups };
}

/** The sums of shares from the bottom up, as uPlot draws them. */
function stacked({ times, totals, groups }) {
  const sums = Array(times.length).fill(0);
  const columns = groups.map(({ counts }) =>
    counts.map((count, i) => (totals[i] ? (sums[i] += count) / totals[i] : null)),
  );
  return [times, ...columns];
}

const middles = (plot, groups, last) => {
  let below = 0;
  return groups.map((_, i) => {
    const top = plot.data[i + 1][last];
    const at = (below + top) / 2;
    const size = top - below;
    below = top;
    return { at, size };
  });
};

function options(groups, marks, width, isLong) {
  const names = groups.map(({ name }) => shortName(name));
  const room = width > 520 ? labelWidth(names) : 12;
  const marked = (name) => marks.mark(name).colour;
  return {
    padding: [8, room, 0, 0],
    scales: { x: { time: true }, y: { range: [0, 1] } },
    axes: [
      axis({ label: isLong ? "time" : "time of day", space: 70, labelSize: 18 }),
      axis({
        label: "share of decisions", size: 52, splits: [0, 0.25, 0.5, 0.75, 1],
        values: (_, splits) => splits.map((share) => percent(share)),
      }),
    ],
    series: [
      {},
      ...groups.map(({ name }, i) => ({
        label: name,
        stroke: colour("surface"),
        width: 1.5,
        fill: i === 0 ? tint(marked(name), 0.85) : undefined,
        points: { show: false },
      })),
    ],
    bands: groups.slice(1).map(({ name }, i) => ({
      series: [i + 2, i + 1], fill: tint(marked(name), 0.85),
    })),
    cursor: { points: { show: false } },
    hooks: {
      draw: [
        (plot) => {
          const last = plot.data[0].findLastIndex((_, i) => plot.data[1][i] != null);
          if (last < 0 || room < 20) return;
          const labels = middles(plot, groups, last)
            .map(({ at, size }, i) => ({
              y: plot.valToPos(at, "y", true), text: names[i],
              colour: colour(marked(groups[i].name)), size,
            }))
            .filter(({ size }) => size > 0.025);
          writeLabels(plot, labels);
        },
      ],
    },
  };
}

/** @param {{live: import("../live_problem.js").LiveProblem, marks: any}} props */
export function Traffic({ live, marks }) {
  const [index, setIndex] = useState(null);
  const { timeline } = live;
  const leading = marks.leading(live.arms);
  const names = leading.join("\n");
  const made = useMemo(() => timeline && grouped(timeline, leading), [timeline, names]);
  const data = useMemo(() => made && stacked(made), [made]);
  const total = made?.totals.reduce((sum, count) => sum + count, 0) ?? 0;
  const at = index != null && made?.totals[index] ? index : null;
  const rows = (made?.groups ?? []).map(({ name, counts }) => {
    const part = at == null ? counts.reduce((sum, count) => sum + count, 0) : counts[at];
    const whole = at == null ? total : made.totals[at];
    return { name, mark: marks.mark(name), value: percent(whole ? part / whole : null) };
  });
  const span = SPANS.find(([seconds]) => seconds === live.seconds)?.[1] ?? duration(live.seconds);
  const words = rows.map(({ name, value }) => `${name} ${value}`).join(", ");
  return html`
    <section class="panel" aria-labelledby="traffic-title">
      <div class="panel-head">
        <h2 id="traffic-title">Traffic share</h2>
        <label class="inline">
          <span>Last</span>
          <select value=${live.seconds} onChange=${(event) => live.span(Number(event.target.value))}>
            ${SPANS.map(([seconds, text]) => html`<option value=${seconds}>${text}</option>`)}
          </select>
        </label>
      </div>
      ${total
        ? html`<${Plot}
            shape=${`${made.groups.map(({ name }) => name + marks.mark(name).slot)}|${live.seconds > 7200}`}
            make=${(width) => options(made.groups, marks, width, live.seconds > 7200)}
            data=${data} height=${250} pointed=${setIndex}
            label=${`Share of decisions per arm over the last ${span}: ${words}. Left and right arrow keys move the cursor.`}
          />`
        : html`<p class="empty">No decision in the last ${span}.${" "}
            ${live.stats && Object.keys(live.stats.decisions).length ? "Choose a longer time span." : ""}</p>`}
      ${total > 0 && html`<${ArmKey}
        title=${at == null ? `Last ${span}` : moment(made.times[at])} rows=${rows}
      />`}
    </section>
  `;
}
