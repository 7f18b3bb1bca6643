/** Which arm is best where: a strip under the axis of a context field. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { field as fieldWords } from "../format.js";

/**
 * Where the best arm changes. Between two points the lines of both arms are taken as straight.
 * @param {{points: (number|string)[], best: (?string)[], curves?: import("../types.js").Curve[]}} told
 * @returns {{at: number, from: string, to: string}[]}
 */
export function changesOf({ points, best, curves = [] }) {
  const found = [];
  for (let i = 1; i < best.length; i++) {
    const [from, to] = [best[i - 1], best[i]];
    if (from === to || from == null || to == null) continue;
    const [x0, x1] = /** @type {number[]} */ ([points[i - 1], points[i]]);
    const [one, two] = [from, to].map((arm) => curves.find((curve) => curve.arm === arm)?.estimate);
    const before = one && two ? one[i - 1] - two[i - 1] : 1;
    const after = one && two ? one[i] - two[i] : -1;
    const part = before === after ? 0.5 : Math.min(Math.max(before / (before - after), 0), 1);
    found.push({ at: x0 + part * (x1 - x0), from, to });
  }
  return found;
}

/** Neighbours in a list with the same best arm; each point of a list has the same width. */
function runs({ points, best }) {
  const found = [];
  points.forEach((point, i) => {
    const last = found.at(-1);
    if (last && last.name === best[i])
      Object.assign(last, { to: point, part: last.part + 1 / points.length });
    else found.push({ name: best[i], part: 1 / points.length, from: point, to: point });
  });
  return found;
}

/** The stretches of one best arm, with their width as a share of the axis. */
function stretches(told, isLog) {
  const { points, best } = told;
  const numbers = /** @type {number[]} */ (points);
  const place = (value) => (isLog ? Math.log(value) : value);
  const [first, last] = [place(numbers[0]), place(numbers[numbers.length - 1])];
  const cuts = changesOf(told);
  const names = [best[0], ...cuts.map(({ to }) => to)];
  const edges = [first, ...cuts.map(({ at }) => place(at)), last];
  return names.map((name, i) => ({
    name,
    part: (edges[i + 1] - edges[i]) / (last - first || 1),
    from: i ? cuts[i - 1].at : numbers[0],
    to: cuts[i]?.at ?? numbers[numbers.length - 1],
  }));
}

const reach = (from, to) =>
  from === to ? `at ${fieldWords(from)}` : `from ${fieldWords(from)} to ${fieldWords(to)}`;

/**
 * @param {{title: string, curves: {points: (number|string)[], best: (?string)[]}, marks: any,
 *   isLog: boolean, isList: boolean, left?: number, right?: (width: number) => number}} props
 *   `left` and `right` are the pixels beside the axis that it belongs to.
 */
export function BestStrip({ title, curves, marks, isLog, isList, left = 80, right = () => 0 }) {
  const place = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!place.current) return undefined;
    const watcher = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  if (curves.points.length < 2 || !curves.best.some(Boolean)) return html`<div ref=${place}></div>`;
  const parts = isList ? runs(curves) : stretches(curves, isLog);
  return html`<div class="strip" ref=${place}>
    <span class="strip-title" style=${{ width: `${left}px` }}>${title}</span>
    <ol style=${{ marginRight: `${right(width)}px` }}>
      ${parts.map(({ name, part, from, to }) => {
        const mark = marks.mark(name ?? "");
        const words = `${name ?? "unknown"} ${reach(from, to)}`;
        return html`<li
          class=${`strip-part strip-${mark.slot < 0 ? "others" : mark.slot}`}
          style=${{ flexGrow: String(Math.max(part, 0.004)) }}
          title=${words}
        >
          <span>${name ?? "?"}</span><span class="unseen"> ${reach(from, to)}</span>
        </li>`;
      })}
    </ol>
  </div>`;
}
