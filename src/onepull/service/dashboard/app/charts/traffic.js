/** Traffic share per arm over time: a stacked column for each stretch of time. */
import { html, useMemo, useState } from "../../vendor/htm-preact-3.1.1.js";
import { OTHERS } from "../arm_marks.js";
import { duration, moment, percent } from "../format.js";
import { colour } from "../theme.js";
import { ArmKey } from "./arm_key.js";
import { Plot, axis, labelWidth, shortName, writeLabels } from "./plot.js";

const SPANS = [
  [60, "1 min"],
  [300, "5 min"],
  [900, "15 min"],
  [3600, "1 h"],
  [86_400, "24 h"],
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
  return fromFirst({ times, totals, groups });
}

/** Without the time before the first decision, so that a new page is not empty; at least a fifth. */
function fromFirst({ times, totals, groups }) {
  const first = totals.findIndex((count) => count > 0);
  const start = Math.max(0, Math.min(first - 1, Math.floor((times.length * 4) / 5)));
  return {
    times: times.slice(start),
    totals: totals.slice(start),
    groups: groups.map(({ name, counts }) => ({ name, counts: counts.slice(start) })),
  };
}

/** A moment on the axis; with the date if days are shown. */
function clock(time, isLong) {
  const date = new Date(time * 1000);
  const isMidnight = date.getHours() + date.getMinutes() + date.getSeconds() === 0;
  if (isLong && isMidnight) return date.toLocaleDateString("en-CA").slice(5);
  const text = date.toLocaleTimeString("en-GB");
  return date.getSeconds() ? text : text.slice(0, 5);
}

/** The sums of shares from the bottom up, as uPlot draws them. */
function stacked({ times, totals, groups }) {
  const sums = Array(times.length).fill(0);
  const columns = groups.map(({ counts }) =>
    counts.map((count, i) => (totals[i] ? (sums[i] += count) / totals[i] : null)),
  );
  return [times, ...columns];
}

/** Columns of all groups, one on the other; a stretch without traffic stays empty. */
function drawColumns(plot, groups, marks, width) {
  const { ctx, bbox, data } = plot;
  // A column ends at the very pixel at which the next one begins.
  const edge = (time) => Math.round(plot.valToPos(time, "x", true));
  const wide = edge(data[0][0] + width) - edge(data[0][0]);
  const gap = wide > 6 * devicePixelRatio ? devicePixelRatio : 0;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  groups.forEach(({ name }, k) => {
    ctx.fillStyle = colour(marks.mark(name).colour);
    data[k + 1].forEach((top, i) => {
      if (top == null) return;
      const below = k ? data[k][i] : 0;
      if (top === below) return;
      const x = edge(data[0][i] - width / 2);
      const end = edge(data[0][i] + width / 2) - gap;
      const y = Math.round(plot.valToPos(top, "y", true));
      const low = Math.round(plot.valToPos(below, "y", true)) - (k ? devicePixelRatio : 0);
      ctx.fillRect(x, y, end - x, Math.max(low - y, 1));
    });
  });
  ctx.restore();
}

/** The names of the groups beside the newest column. */
function labelsOf(plot, groups, marks) {
  const last = plot.data[0].findLastIndex((_, i) => plot.data[1][i] != null);
  if (last < 0) return [];
  return groups
    .map(({ name }, k) => {
      const [below, top] = [k ? plot.data[k][last] : 0, plot.data[k + 1][last]];
      return {
        y: plot.valToPos((below + top) / 2, "y", true),
        text: shortName(name),
        colour: colour(marks.mark(name).colour),
        size: top - below,
      };
    })
    .filter(({ size }) => size > 0.025);
}

function options(groups, marks, width, timeline, isLong) {
  const room = width > 520 ? labelWidth(groups.map(({ name }) => shortName(name))) : 12;
  return {
    padding: [8, room, 0, 0],
    scales: {
      x: {
        time: true,
        range: (_, low, high) => [low - timeline.width / 2, high + timeline.width / 2],
      },
      y: { range: [0, 1] },
    },
    axes: [
      axis({
        label: "time",
        space: 66, // pixels from one moment to the next: a clock with seconds takes 56
        size: 32,
        labelSize: 18,
        values: (_, at) => at.map((time) => clock(time, isLong)),
      }),
      axis({
        label: "share of decisions",
        size: 52,
        splits: [0, 0.25, 0.5, 0.75, 1],
        values: (_, splits) => splits.map((share) => percent(share)),
      }),
    ],
    series: [
      {},
      ...groups.map(({ name }) => ({ label: name, paths: () => null, points: { show: false } })),
    ],
    cursor: { points: { show: false } },
    hooks: {
      draw: [
        (plot) => {
          drawColumns(plot, groups, marks, timeline.width);
          if (room > 20) writeLabels(plot, labelsOf(plot, groups, marks));
        },
      ],
    },
  };
}

/** A time span in words. @param {number} seconds */
export const spanWords = (seconds) =>
  SPANS.find(([known]) => known === seconds)?.[1] ?? duration(seconds);

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
  const span = spanWords(live.seconds);
  const words = rows.map(({ name, value }) => `${name} ${value}`).join(", ");
  return html`
    <section class="panel" aria-labelledby="traffic-title">
      <div class="panel-head">
        <h2 id="traffic-title">Traffic share</h2>
        <label class="inline">
          <span>Last</span>
          <select
            value=${live.seconds}
            onChange=${(event) => live.span(Number(event.target.value))}
          >
            ${SPANS.map(([seconds, text]) => html`<option value=${seconds}>${text}</option>`)}
          </select>
        </label>
      </div>
      ${
        total
          ? html`<${Plot}
              shape=${`${made.groups.map(({ name }) => name + marks.mark(name).slot)}|${live.seconds > 7200}|${timeline.width}`}
              make=${(width) => options(made.groups, marks, width, timeline, live.seconds > 7200)}
              data=${data}
              height=${296}
              pointed=${setIndex}
              label=${`Share of decisions per arm over the last ${span}: ${words}. Left and right arrow keys move the cursor.`}
            />`
          : html`<p class="empty">
              No decision in the last ${span}.${" "}
              ${live.stats && Object.keys(live.stats.decisions).length ? "Choose a longer time span." : ""}
            </p>`
      }
      ${
        total > 0 &&
        html`<${ArmKey}
          title=${at == null ? `Last ${span}` : moment(made.times[at])}
          rows=${rows}
        />`
      }
    </section>
  `;
}
