/** Why an arm was chosen, and what would be chosen for the same request now. */
import { html, useEffect, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ask, problemPath } from "../api.js";
import { ArmName, Swatch } from "../charts/arm_key.js";
import { aligned, count, fields, moment, number, percent, sentence } from "../format.js";
import { useModal } from "../modal.js";
import { outcomeOf } from "./decisions.js";

const MOST = 12;

const Fact = ({ name, children }) =>
  html`<div>
    <dt>${name}</dt>
    <dd>${children}</dd>
  </div>`;

/** The index of an arm that was never pulled is infinite, which JSON writes as null. */
const index = (row, figure) => (row.index == null ? "∞" : figure(row.index));

function Now({ told, marks }) {
  const order = [...told.arms].sort((a, b) => (b.index ?? Infinity) - (a.index ?? Infinity));
  const rows = order.slice(0, MOST);
  const isWaiting = rows.some((row) => row.in_flight > 0);
  const figure = aligned(rows.flatMap((row) => [row.estimate, row.bonus, row.index]));
  return html`<h3>The same request now</h3>
    <p>
      ${told.arm ? html`<strong>${told.arm}</strong>: ${told.reason}.` : `One of several arms is drawn: ${told.reason}.`}
    </p>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Arm</th>
            <th scope="col" class="num pulls">Pulls</th>
            ${isWaiting && html`<th scope="col" class="num pulls">In flight</th>`}
            <th scope="col" class="num">Estimate</th>
            <th scope="col" class="num">Bonus</th>
            <th scope="col" class="num">Index</th>
            <th scope="col" class="num">Chance</th>
            <th scope="col">Note</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) =>
              html`<tr key=${row.arm} class=${row.arm === told.arm ? "chosen" : ""}>
                <th scope="row">
                  <span class="arm-name"
                    ><${Swatch} mark=${marks.mark(row.arm)} /><${ArmName} name=${row.arm}
                  /></span>
                </th>
                <td class="num pulls">${count(row.pulls)}</td>
                ${isWaiting && html`<td class="num pulls">${count(row.in_flight)}</td>`}
                <td class="num">${figure(row.estimate)}</td>
                <td class="num">${figure(row.bonus)}</td>
                <td class="num">${index(row, figure)}</td>
                <td class="num">${percent(row.chance)}</td>
                <td>
                  ${[row.arm === told.arm ? "chosen" : "", row.control, row.eligible ? "" : "not eligible"].filter(Boolean).join(", ")}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${order.length > MOST && html`<p class="note">The ${MOST} highest of ${order.length} arms.</p>`}
    <p class="note">
      ${told.note ? sentence(told.note) : "Index = estimate + bonus."} The arm with the highest index is chosen.
    </p>`;
}

/** @param {{live: any, marks: any, decision: any, close: (decision: any) => void}} props */
export function ExplanationDialog({ live, marks, decision, close }) {
  const { dialog, closed } = useModal(decision, close);
  const [told, setTold] = useState(null);
  const [error, setError] = useState("");

  useEffect(() => {
    if (!decision) return undefined;
    setTold(null);
    setError("");
    const gone = new AbortController();
    const query = new URLSearchParams(Object.entries(decision.context ?? {}));
    for (const arm of decision.eligible ?? []) query.append("eligible", arm);
    ask(problemPath(live.name, `explain?${query}`), { signal: gone.signal }).then(
      setTold,
      (failed) => {
        if (!gone.signal.aborted) setError(failed.message);
      },
    );
    return () => gone.abort();
  }, [decision]);

  return html`<dialog
    ref=${dialog}
    class="explain"
    aria-labelledby="explain-title"
    onClose=${closed}
    onClick=${(event) => event.target === dialog.current && close(decision)}
  >
    ${
      decision &&
      html`<div class="explain-body">
        <div class="panel-head">
          <h2 id="explain-title">Why ${decision.arm}?</h2>
          <button onClick=${() => close(decision)} autofocus>Close</button>
        </div>
        <dl class="facts">
          <${Fact} name="Request">${fields(decision.context) || "no context"}<//>
          <${Fact} name="Decided"
            >${moment(decision.time)}${decision.mode && decision.mode !== "live" ? `, mode ${decision.mode}` : ""}<//
          >
          <${Fact} name="Reason">${decision.reason || "not recorded"}<//>
          <${Fact} name="Estimate then">${number(decision.estimate)}<//>
          <${Fact} name="Chance">${percent(decision.chance)}<//>
          <${Fact} name="Outcome">${outcomeOf(live, decision)}<//>
          ${decision.choice && html`<${Fact} name="Policy's own choice">${decision.choice}<//>`}
          ${decision.key && html`<${Fact} name="Key">${decision.key}<//>`}
          <${Fact} name="Id"><code>${decision.id}</code><//>
        </dl>
        ${error && html`<p class="problem" role="alert">${error}</p>`}
        ${told ? html`<${Now} told=${told} marks=${marks} />` : !error && html`<p class="soft">Asking…</p>`}
      </div>`
    }
  </dialog>`;
}
