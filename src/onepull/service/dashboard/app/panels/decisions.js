/** The last decisions; a click explains one. */
import { html, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { serverNow } from "../api.js";
import { ArmName, Swatch } from "../charts/arm_key.js";
import { aligned, fields, moment, number } from "../format.js";

const ROWS = 12;

/** What became of a decision, in words. */
export function outcomeOf(live, decision) {
  const told = live.outcomes.get(decision.id);
  if (!told) return serverNow() > (decision.expires_at ?? Infinity) ? "expired" : "waiting";
  if (told.event === "failed") return "failed";
  if (told.event === "expired") return "expired";
  if (told.event === "gaveup") return "given up";
  const late = told.late ? " (late)" : "";
  return `${told.state ? fields(told.state) : `reward ${number(told.reward)}`}${late}`;
}

const KINDS = {
  all: ["all", () => true],
  answered: ["answered", (live, one) => live.outcomes.has(one.id)],
  bad: [
    "failed or expired",
    (live, one) => ["failed", "expired", "given up"].includes(outcomeOf(live, one)),
  ],
};

/** @param {{live: import("../live_problem.js").LiveProblem, marks: any, explain: (decision: any) => void}} props */
export function Decisions({ live, marks, explain }) {
  const [isHeld, setHeld] = useState(false);
  const [kind, setKind] = useState("all");
  const held = useRef(null);
  // A list that moves away under the pointer cannot be clicked.
  if (!isHeld || !held.current) {
    held.current = live.decisions.filter((one) => KINDS[kind][1](live, one)).slice(0, ROWS);
  }
  const rows = held.current;
  const figure = aligned(rows.map((one) => one.estimate));
  const leave = (event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) setHeld(false);
  };
  return html`<section class="panel" aria-labelledby="decisions-title">
    <div class="panel-head">
      <h2 id="decisions-title">
        Last decisions${" "}
        <span class="soft hint"
          >${isHeld ? "stand still while you point at them" : "click one to see why"}</span
        >
      </h2>
      <label class="inline"
        ><span class="unseen">Show</span>
        <select
          value=${kind}
          aria-label="Which decisions"
          onChange=${(event) => setKind(event.target.value)}
        >
          ${Object.entries(KINDS).map(([name, [text]]) => html`<option value=${name}>${text}</option>`)}
        </select></label
      >
    </div>
    ${!rows.length && live.decisions.length > 0 && html`<p class="empty">None of the last ${live.decisions.length} decisions.</p>`}
    ${
      rows.length
        ? html`<div class="scroll">
            <table
              class="decisions"
              role="table"
              onMouseEnter=${() => setHeld(true)}
              onMouseLeave=${() => setHeld(false)}
              onFocusIn=${() => setHeld(true)}
              onFocusOut=${leave}
            >
              <thead>
                <tr role="row">
                  <th scope="col" role="columnheader">Time</th>
                  <th scope="col" role="columnheader">Request</th>
                  <th scope="col" role="columnheader">Arm</th>
                  <th scope="col" role="columnheader" class="num">Estimate</th>
                  <th scope="col" role="columnheader">Outcome</th>
                </tr>
              </thead>
              <tbody>
                ${rows.map(
                  (one) =>
                    html`<tr
                      key=${one.id}
                      role="row"
                      class="clickable"
                      onClick=${() => explain(one)}
                    >
                      <td role="cell" class="num left">
                        <button
                          class="link"
                          onClick=${(event) => {
                            event.stopPropagation();
                            explain(one);
                          }}
                          aria-label=${`Explain the decision of ${moment(one.time)}: ${one.arm}`}
                        >
                          ${moment(one.time)}
                        </button>
                      </td>
                      <td role="cell" class="request">${fields(one.context) || "–"}</td>
                      <td role="cell" class="arm">
                        <span class="arm-name"
                          ><${Swatch} mark=${marks.mark(one.arm)} /><${ArmName} name=${one.arm} />${one.mode && one.mode !== "live" ? html`<span class="badge">${one.mode}</span>` : ""}</span
                        >
                      </td>
                      <td role="cell" class="num estimate">${figure(one.estimate)}</td>
                      <td role="cell" class="outcome">${outcomeOf(live, one)}</td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
        : !live.decisions.length &&
          html`<div class="empty">
            <p>No decision yet. Ask for one:</p>
            <pre>
curl -X POST ${location.origin}/v1/problems/${encodeURIComponent(live.name)}/decisions \\
  -H 'content-type: application/json' -d '${JSON.stringify({ context: exampleOf(live) })}'</pre>
          </div>`
    }
  </section>`;
}

/** A context that fits the problem. */
function exampleOf(live) {
  const context = live.described?.problem.context ?? {};
  return Object.fromEntries(
    Object.entries(context).map(([name, space]) => [
      name,
      Array.isArray(space) ? space[0] : Math.max(space.low ?? 0, 1),
    ]),
  );
}
