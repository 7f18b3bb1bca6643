/** A uPlot picture as a component: it follows its width, the theme and its data. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { colour, followTheme } from "../theme.js";

/** @typedef {any} Options What uPlot takes. */

/** The number of times that colours have changed. @returns {number} */
export function useTheme() {
  const [count, setCount] = useState(0);
  useEffect(() => followTheme(() => setCount((old) => old + 1)), []);
  return count;
}

const FONT = "12px system-ui, sans-serif";

/** An axis in the colours of the page. @param {Options} more */
export const axis = (more) => ({
  stroke: colour("soft"),
  font: FONT,
  labelFont: FONT,
  labelSize: 20,
  labelGap: 2,
  grid: { stroke: colour("line"), width: 1 },
  ticks: { stroke: colour("line"), width: 1, size: 5 },
  ...more,
});

/**
 * Write names at the right of lines, apart from each other.
 * @param {any} plot
 * @param {{y: number, text: string, colour: string}[]} labels In pixels of the canvas.
 */
export function writeLabels(plot, labels) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const step = 15 * ratio;
  const placed = [...labels].sort((a, b) => a.y - b.y);
  const low = bbox.top + step / 2;
  const high = bbox.top + bbox.height - step / 2;
  let above = low - step;
  for (const label of placed) above = label.y = Math.max(label.y, above + step);
  let below = high + step;
  for (const label of [...placed].reverse()) below = label.y = Math.min(label.y, below - step);
  ctx.save();
  ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const label of placed) {
    ctx.fillStyle = label.colour;
    ctx.fillText(label.text, bbox.left + bbox.width + 8 * ratio, label.y);
  }
  ctx.restore();
}

const ruler = document.createElement("canvas");

/** How wide names at the right need to be, in CSS pixels. @param {string[]} names */
export function labelWidth(names) {
  const ctx = ruler.getContext("2d");
  ctx.font = "600 12px system-ui, sans-serif";
  return Math.ceil(Math.max(...names.map((name) => ctx.measureText(name).width), 0)) + 14;
}

/** A name that is not too long for a picture. @param {string} name */
export const shortName = (name) => (name.length > 16 ? `${name.slice(0, 8)}…${name.slice(-7)}` : name);

/**
 * @param {{
 *   make: (width: number) => Options, shape: string, data: any[], height: number, label: string,
 *   pointed?: (index: ?number) => void,
 * }} props `shape` changes whenever options do; `pointed` hears where a reader points.
 */
export function Plot({ make, shape, data, height, label, pointed }) {
  const place = useRef(null);
  const plot = useRef(null);
  const hear = useRef(pointed);
  hear.current = pointed;
  const theme = useTheme();
  const [width, setWidth] = useState(0);

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);

  useEffect(() => {
    if (!width) return undefined;
    const options = make(width);
    plot.current = new /** @type {any} */ (window).uPlot(
      {
        width,
        height,
        legend: { show: false },
        ...options,
        cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 }, ...options.cursor },
        hooks: {
          ...options.hooks,
          setCursor: [(made) => hear.current?.(made.cursor.idx ?? null)],
        },
      },
      data,
      place.current,
    );
    return () => {
      plot.current.destroy();
      plot.current = null;
    };
  }, [width, height, shape, theme]);

  useEffect(() => {
    if (plot.current && plot.current.data !== data) plot.current.setData(data);
  }, [data]);

  const move = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const made = plot.current;
    if (event.key === "Escape") made?.setCursor({ left: -10, top: -10 });
    if (!step || !made) return;
    event.preventDefault();
    const last = made.data[0].length - 1;
    const at = made.cursor.idx == null ? last : made.cursor.idx + step;
    const index = Math.min(Math.max(at, 0), last);
    made.setCursor({ left: made.valToPos(made.data[0][index], "x"), top: 5 });
  };

  return html`<div
    class="plot"
    ref=${place}
    role="img"
    tabindex="0"
    aria-label=${label}
    onKeyDown=${move}
    onBlur=${() => plot.current?.setCursor({ left: -10, top: -10 })}
  ></div>`;
}
