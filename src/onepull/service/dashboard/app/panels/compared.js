/** Shares and payoff with the present formula and with another one. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { ArmName, Swatch } from "../charts/arm_key.js";
import { BestStrip } from "../charts/best_strip.js";
import { aligned, count, field, number, percent, sentence, signed } from "../format.js";

const ROWS = 10;

/** An answer of what-if, as it is shown. */
export const ofWhatIf = (told) => ({
  ...told,
  arms: Object.fromEntries(
    Object.entries(told.arms).map(([name, row]) => [
      name,
      { now: row.was_share, then: row.share, earned: row.earned },
    ]),
  ),
});

/** A replay in the same shape; it has no strips, and no payoff of each arm. */
export function ofReplay(told, arms) {
  const rows = arms.map((arm) => [
    arm,
    { now: told.logged.shares[arm] ?? 0, then: told.replayed.shares[arm] ?? 0, earned: null },
  ]);
  return {
    requests: told.decisions,
    earned: told.replayed.value,
    was_earned: told.logged.value,
    error: told.replayed.error == null ? null : 1.96 * told.replayed.error,
    best: null,
    notes: told.notes,
    arms: Object.fromEntries(rows),
  };
}

/** The arms whose share is largest, then or now. */
const leading = (arms) =>
  Object.entries(arms)
    .sort(([, a], [, b]) => Math.max(b.then ?? 0, b.now ?? 0) - Math.max(a.then ?? 0, a.now ?? 0))
    .slice(0, ROWS);

const Bars = ({ now, then }) =>
  html`<span class="bars" aria-hidden="true">
    <span class="bar now" style=${{ "--part": `${(now ?? 0) * 100}%` }}></span>
    <span class="bar then" style=${{ "--part": `${(then ?? 0) * 100}%` }}></span
  ></span>`;

/** What it would earn, in a sentence. */
function Verdict({ told }) {
  const gain =
    told.earned != null && told.was_earned != null ? told.earned - told.was_earned : null;
  const error = told.error == null ? "" : ` ± ${number(told.error)}`;
  const before = ` against the present choices (${number(told.was_earned)}).`;
  return html`<p class="verdict">
    ${`In the last ${count(told.requests)} requests: `}
    <strong>${number(told.earned)}</strong>
    ${`${error} per request by this formula, `}
    ${
      gain != null && Math.abs(gain) < 1e-9
        ? "the same as with the present choices."
        : html`<strong>${signed(gain)}</strong>${before}`
    }
  </p>`;
}

const OF_WHAT_IF =
  "Each request goes to the arm with the best mean of its newest outcomes; exploration is left out.";
const points = (value) => `${value.toFixed(0)} pts`;

/** Where a strip begins and ends. */
const ends = (told) =>
  `by ${told.field}, from ${field(told.points[0])} to ${field(told.points.at(-1))}`;

/** Shares and payoff, now and then. */
export function Compared({ told, marks, isLog, isList }) {
  const rows = leading(told.arms);
  const figure = aligned(rows.map(([, row]) => row.earned));
  const hidden = Object.keys(told.arms).length - rows.length;
  return html`<${Verdict} told=${told} />
    <div class="scroll">
      <table class="compared">
        <thead>
          <tr>
            <th scope="col">Arm</th>
            <th scope="col" class="bars"><span class="unseen">Shares</span></th>
            <th scope="col" class="num">Share now</th>
            <th scope="col" class="num">Share then</th>
            <th scope="col" class="num">Change</th>
            ${told.best && html`<th scope="col" class="num">Payoff then</th>`}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([name, row]) =>
              html`<tr key=${name}>
                <th scope="row">
                  <span class="arm-name"
                    ><${Swatch} mark=${marks.mark(name)} /><${ArmName} name=${name}
                  /></span>
                </th>
                <td class="bars"><${Bars} now=${row.now} then=${row.then} /></td>
                <td class="num">${percent(row.now)}</td>
                <td class="num">${percent(row.then)}</td>
                <td class="num">
                  ${row.now == null || row.then == null ? "–" : signed((row.then - row.now) * 100, points)}
                </td>
                ${told.best && html`<td class="num">${figure(row.earned)}</td>`}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${hidden > 0 && html`<p class="note">${hidden} more arms have smaller shares.</p>`}
    ${
      told.best &&
      html`<div class="strips">
        <${BestStrip}
          title="best now"
          curves=${{ points: told.points, best: told.was_best }}
          marks=${marks}
          isLog=${isLog}
          isList=${isList}
        />
        <${BestStrip}
          title="best then"
          curves=${{ points: told.points, best: told.best }}
          marks=${marks}
          isLog=${isLog}
          isList=${isList}
        />
        ${told.field && html`<p class="note strip-note">${ends(told)}</p>`}
      </div>`
    }
    ${told.best && html`<p class="note">${OF_WHAT_IF}</p>`}
    ${told.notes.map((note) => html`<p class="note">${sentence(note)}</p>`)}`;
}
