/** Estimated payoff by context with intervals, one line per arm, and where the best arm changes. */
import { html, useMemo, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { aligned, field as fieldWords, number } from "../format.js";
import { ArmKey } from "./arm_key.js";
import { BestStrip, changesOf } from "./best_strip.js";
import { LEFT, bandedArms, byArm, columns, drawn, options, right } from "./payoff_picture.js";
import { Plot } from "./plot.js";

/** Whether a field is a list rather than an interval. */
const isList = (space) => Array.isArray(space);

/** The field along which payoff is shown, and the values of the others. */
function Axis({ live, curves, context }) {
  const names = Object.keys(context);
  if (names.length < 2) return null;
  const change = (name, value) =>
    live.along(live.axis.field, { ...live.axis.fixed, [name]: value });
  return html`<div class="axis-choice">
    <label class="inline"
      ><span>Along</span>
      <select value=${curves.field} onChange=${(event) => live.along(event.target.value, {})}>
        ${names.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
    ${Object.entries(curves.context).map(
      ([name, value]) =>
        html`<label class="inline" key=${name}
          ><span>${name}</span>
          ${
            isList(context[name])
              ? html`<select value=${value} onChange=${(event) => change(name, event.target.value)}>
                  ${context[name].map((one) => html`<option value=${one}>${one}</option>`)}
                </select>`
              : html`<input
                  type="number"
                  step="any"
                  value=${Number(Number(value).toPrecision(4))}
                  onChange=${(event) => change(name, event.target.value)}
                />`
          }
        </label>`,
    )}
  </div>`;
}

/** The same numbers as a table, for those who cannot see the picture. */
const AsTable = ({ curves, lines }) =>
  html`<details class="as-table">
    <summary>Show as a table</summary>
    <div class="scroll">
      <table>
        <caption>
          Estimated payoff with half the width of its 95 % interval
        </caption>
        <thead>
          <tr>
            <th scope="col">${curves.field || "context"}</th>
            ${lines.map(({ arm }) => html`<th scope="col" class="num">${arm}</th>`)}
            <th scope="col">best arm</th>
          </tr>
        </thead>
        <tbody>
          ${curves.points.map(
            (point, i) =>
              i % Math.ceil(curves.points.length / 12) === 0 &&
              html`<tr>
                <th scope="row" class="num">${curves.field ? fieldWords(point) : "any"}</th>
                ${lines.map(({ estimate, error }) => html`<td class="num">${number(estimate[i])}${error[i] != null ? ` ± ${number(error[i])}` : ""}</td>`)}
                <td>${curves.best[i] ?? "–"}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;

/** @param {{live: import("../live_problem.js").LiveProblem, marks: any}} props */
export function Payoff({ live, marks }) {
  const [index, setIndex] = useState(null);
  const [asGap, setAsGap] = useState(false);
  const { curves } = live;
  const context = live.described?.problem.context ?? {};
  const lines = curves ? drawn(curves, marks) : [];
  const shape = lines.map(({ arm }) => arm + marks.mark(arm).slot).join();
  const space = context[curves?.field] ?? {};
  const isLog = space.scale === "log";
  const asList = isList(space) || !curves?.field;
  const seen = useMemo(
    () => (curves && !curves.field ? byArm(curves, lines) : curves),
    [curves, shape],
  );
  const latest = useRef(seen);
  latest.current = seen;
  const data = useMemo(() => {
    const known = new Set(lines.map(({ arm }) => arm));
    return (
      seen &&
      columns(
        seen,
        seen.curves.filter(({ arm }) => known.has(arm)),
        asGap,
        asList,
      )
    );
  }, [seen, asGap, shape]);
  const hidden = (curves?.curves.length ?? 0) - lines.length;
  const at = index ?? null;
  const shown = !curves?.field ? 0 : (at ?? Math.floor(curves.points.length / 2));
  const figure = aligned(lines.map((curve) => curve.estimate[shown]));
  const rows = lines.map((curve) => ({
    name: curve.arm,
    mark: marks.mark(curve.arm),
    value: `${figure(curve.estimate[shown])}${curve.error[shown] != null ? ` ± ${figure(curve.error[shown])}` : ""}`,
  }));
  const changes = curves && !asList ? changesOf(curves) : [];
  const words = changes
    .map(({ at: where, from, to }) => `${from} to ${to} at ${fieldWords(where)}`)
    .join("; ");
  const verdict = words
    ? `The best arm changes: ${words}.`
    : `The best arm is ${curves?.best.find(Boolean) ?? "not known"}.`;
  const along = curves?.field ? ` along ${curves.field}` : "";
  const told =
    `Estimated payoff of each arm${along} with 95 % intervals. ${verdict} ` +
    "Left and right arrow keys move the cursor.";
  const place = curves?.field
    ? `At ${curves.field} ${fieldWords(curves.points[shown] ?? 0)}`
    : "In all requests";
  const banded = curves ? bandedArms(curves, lines) : [];
  const make = (width) =>
    options(seen, latest, lines, marks, { isLog, asList, asGap, isNarrow: width < 520, banded });
  return html`
    <section class="panel" aria-labelledby="payoff-title">
      <div class="panel-head">
        <h2 id="payoff-title">Estimated payoff${curves?.field ? ` by ${curves.field}` : ""}</h2>
        <label class="inline check"
          ><input
            type="checkbox"
            checked=${asGap}
            onChange=${(event) => setAsGap(event.target.checked)}
          />
          <span>distance from the best</span></label
        >
      </div>
      ${curves && html`<${Axis} live=${live} curves=${curves} context=${context} />`}
      ${live.curvesError && html`<p class="problem" role="alert">${live.curvesError}</p>`}
      ${
        lines.length
          ? html`<${Plot}
                shape=${`${shape}|${curves.field}|${isLog}|${asList}|${asGap}|${seen.points.length}|${banded}`}
                make=${make}
                data=${data}
                height=${240}
                pointed=${setIndex}
                label=${told}
              />
              ${
                curves.field &&
                html`<${BestStrip}
                  title="best arm"
                  curves=${curves}
                  marks=${marks}
                  isLog=${isLog}
                  isList=${asList}
                  left=${LEFT}
                  right=${(width) => right(lines, width < 520)}
                />`
              }
              <${ArmKey} title=${place} rows=${rows} />
              <p class="note">
                ${asList ? "Whiskers" : "Bands"} are 95 % intervals from the newest
                outcomes${!asList && banded.length < lines.length ? ", drawn for arms that are best somewhere" : ""}.${hidden > 0 ? ` ${hidden} more arms are not drawn.` : ""}
              </p>
              <${AsTable} curves=${curves} lines=${lines} />`
          : html`<p class="empty">No estimate yet. Estimates come with the first observations.</p>`
      }
    </section>
  `;
}
