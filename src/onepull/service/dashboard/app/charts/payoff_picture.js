/** How estimated payoff is drawn: lines with bands, or points with whiskers for a list. */
import { field as fieldWords } from "../format.js";
import { colour, tint } from "../theme.js";
import { changesOf } from "./best_strip.js";
import { axis, labelWidth, shortName, writeLabels } from "./plot.js";

/** The arms to draw: all if they are few, the leading ones otherwise. */
export const drawn = (curves, marks) =>
  curves.curves.filter(
    ({ arm, estimate }) => marks.slots.has(arm) && estimate.some((value) => value != null),
  );

/** Without a context there is nothing along the axis but the arms themselves. */
export function byArm(curves, lines) {
  const spread = (values, i) => lines.map((_, k) => (k === i ? values[0] : null));
  return {
    ...curves,
    points: lines.map(({ arm }) => arm),
    best: [],
    curves: lines.map((line, i) => ({
      ...line,
      estimate: spread(line.estimate, i),
      error: spread(line.error, i),
    })),
  };
}

/**
 * Columns for uPlot: x, then low, high and estimate of each arm.
 * @param {import("../types.js").Curves} curves
 * @param {import("../types.js").Curve[]} lines
 * @param {boolean} asGap Whether to show the distance from the best arm.
 */
export function columns(curves, lines, asGap, asList) {
  const x = asList ? curves.points.map((_, i) => i) : curves.points;
  const all = curves.field ? null : curves.curves.flatMap(({ estimate }) => estimate);
  const best = x.map((_, i) => {
    const values = (all ?? curves.curves.map(({ estimate }) => estimate[i])).filter(
      (value) => value != null,
    );
    return asGap && values.length ? Math.max(...values) : 0;
  });
  const shift = (value, i) => (value == null ? null : value - best[i]);
  const found = [x];
  for (const { estimate, error } of lines) {
    const edge = (sign) =>
      estimate.map((value, i) =>
        value == null || error[i] == null ? shift(value, i) : shift(value + sign * error[i], i),
      );
    found.push(edge(-1), edge(1), estimate.map(shift));
  }
  return found;
}

/** Where the plot begins and ends, in pixels from the edges. */
export const LEFT = 80;
export const right = (lines, isNarrow) =>
  isNarrow ? 14 : labelWidth(lines.map(({ arm }) => shortName(arm)));

const MOST_BANDS = 4;

/** The arms whose bands are drawn: those that are best somewhere, where more would be a blur. */
export const bandedArms = (curves, lines) =>
  lines
    .map(({ arm }) => arm)
    .filter((arm) => lines.length <= MOST_BANDS || curves.best.includes(arm));

export function options(curves, latest, lines, marks, { isLog, asList, asGap, isNarrow, banded }) {
  const names = lines.map(({ arm }) => shortName(arm));
  const room = right(lines, isNarrow);
  const named = (arm) => marks.mark(arm).colour;
  const series = lines.flatMap(({ arm }) => {
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    return [
      edge,
      edge,
      {
        label: arm,
        stroke: colour(named(arm)),
        width: asList ? 0 : 2,
        dash: marks.mark(arm).dash,
        points: { show: false },
      },
    ];
  });
  return {
    padding: [8, room, 0, 0],
    scales: {
      x: { time: false, distr: isLog ? 3 : 1, range: () => reach(latest.current, asList) },
    },
    axes: [
      axis({
        label: curves.field || "arm",
        space: 55,
        size: 32,
        labelSize: 18,
        ...(asList
          ? {
              splits: curves.points.map((_, i) => i),
              values: (_, at) => at.map((i) => shortName(fieldWords(curves.points[i] ?? ""))),
            }
          : isLog
            ? {
                splits: (plot, _, low, high) =>
                  roundPlaces(low, high, plot.bbox.width / devicePixelRatio),
                filter: (_, at) => at,
                values: (_, at) => at.map((value) => fieldWords(value)),
              }
            : { values: (_, at) => at.map((value) => fieldWords(value)) }),
      }),
      axis({
        label: asGap ? "distance in payoff" : "payoff",
        size: 60,
        values: (_, at) => at.map((value) => fieldWords(value)),
      }),
    ],
    series: [{}, ...series],
    bands: asList
      ? []
      : lines.map(({ arm }, i) => ({
          series: [3 * i + 2, 3 * i + 1],
          fill: banded.includes(arm) ? tint(named(arm), 0.2) : "transparent",
          dir: -1,
        })),
    cursor: asList ? { points: { show: false } } : {},
    hooks: {
      drawAxes: [(plot) => !asList && drawChanges(plot, latest.current)],
      draw: [
        (plot) => {
          if (asList) drawWhiskers(plot, lines, named);
          if (isNarrow || !curves.field) return;
          writeLabels(
            plot,
            lines.map(({ arm }, i) => {
              const column = plot.data[3 * i + 3];
              const last = column.findLastIndex((value) => value != null);
              return {
                y: plot.valToPos(column[last], "y", true),
                text: names[i],
                colour: colour(named(arm)),
              };
            }),
          );
        },
      ],
    },
  };
}

/** From where to where the axis goes. */
const reach = ({ points }, asList) =>
  asList ? [-0.5, points.length - 0.5] : [points[0], points.at(-1)];

/** Round places of a logarithmic axis: 1, 2, 5, 10 and so on, as far as there is room. */
function roundPlaces(low, high, room) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1e-9; power++) {
    for (const digit of [1, 2, 5]) {
      const value = Number((digit * 10 ** power).toPrecision(3));
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found.length > room / 48
    ? found.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9)
    : found;
}

/** A dashed line where the best arm changes. */
function drawChanges(plot, curves) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("strong-line");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const { at } of changesOf(curves)) {
    const x = plot.valToPos(at, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Points with whiskers, beside each other, where there is no line between values of a list. */
function drawWhiskers(plot, lines, named) {
  const { ctx } = plot;
  const ratio = devicePixelRatio;
  const room = plot.bbox.width / Math.max(plot.data[0].length, 1);
  const isAlone = lines.every(
    (_, i) => plot.data[3 * i + 3].filter((value) => value != null).length < 2,
  );
  const step = isAlone ? 0 : Math.min(14 * ratio, (0.7 * room) / lines.length);
  ctx.save();
  ctx.lineWidth = 2 * ratio;
  ctx.setLineDash([]);
  lines.forEach(({ arm }, i) => {
    ctx.strokeStyle = ctx.fillStyle = colour(named(arm));
    plot.data[0].forEach((at, k) => {
      const [low, high, middle] = [1, 2, 3].map((part) => plot.data[3 * i + part][k]);
      if (middle == null) return;
      const x = plot.valToPos(at, "x", true) + (i - (lines.length - 1) / 2) * step;
      ctx.beginPath();
      ctx.moveTo(x, plot.valToPos(low, "y", true));
      ctx.lineTo(x, plot.valToPos(high, "y", true));
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, plot.valToPos(middle, "y", true), 4.5 * ratio, 0, 2 * Math.PI);
      ctx.fill();
    });
  });
  ctx.restore();
}
