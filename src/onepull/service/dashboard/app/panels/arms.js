/** All arms with their counts, and for admins the controls of each. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { pausing, pinning, resuming, sharing, unpinning } from "../changes_to_make.js";
import { ArmName, Swatch } from "../charts/arm_key.js";
import { aligned, brief, count, percent } from "../format.js";

const FIRST = 10;
const total = (values) => values.reduce((sum, value) => sum + value, 0);

/** The share of an arm in the time span, and its failures of all outcomes. */
function rowOf(live, row) {
  const { stats, timeline } = live;
  const all = total(Object.values(timeline?.arms ?? {}).map((arm) => total(arm.decisions)));
  const own = total(timeline?.arms[row.arm]?.decisions ?? []);
  const isDrained = stats.drained.includes(row.arm);
  const isPaused = stats.controls.paused.includes(row.arm) && !isDrained;
  const share = stats.controls.shares[row.arm];
  return {
    ...row,
    isPaused,
    isDrained,
    limits: share,
    isPinned: stats.controls.pinned === row.arm,
    share: all ? own / all : null,
    // Failures of the policy include expired pulls, if those count as failed.
    failures: stats.outcomes[row.arm]?.failed ?? 0,
    expired: stats.outcomes[row.arm]?.expired ?? 0,
    decisions: total(Object.values(stats.decisions[row.arm] ?? {})),
  };
}

/** The columns of numbers; states have their means. */
function columnsOf(rows) {
  const counts = [
    ["Decisions", "decisions"],
    ["Learned", "pulls"],
    ["In flight", "in_flight"],
    ["Failed", "failures"],
    ["Expired", "expired"],
    ["Clipped", "clipped"],
  ].map(([title, name]) => ({ title, value: (row) => count(row[name]) }));
  const states = Object.keys(rows.find((row) => row.state)?.state ?? {})
    .slice(0, 3)
    .map((name) => {
      const figure = aligned(rows.map((row) => row.state?.[name]));
      const about = (row) => (row.approximate?.includes(name) ? "≈\u202f" : "");
      return { title: `Mean ${name}`, value: (row) => `${about(row)}${figure(row.state?.[name])}` };
    });
  return [...counts, ...states];
}

const Status = ({ row }) =>
  html`${row.isPinned && html`<span class="badge strong">pinned</span>`}
  ${row.isPaused && html`<span class="badge warn">paused</span>`}
  ${row.isDrained && html`<span class="badge warn">draining</span>`}
  ${row.limits && html`<span class="badge">${percent(row.limits.least)} to ${percent(row.limits.most)}</span>`}
  ${!row.isPinned && !row.isPaused && !row.isDrained && !row.limits && html`<span class="soft">active</span>`}`;

function Controls({ live, row, ask }) {
  const rests = row.isPaused || row.isDrained;
  return html`<div class="buttons small">
    <button
      onClick=${() => ask((rests ? resuming : pausing)(live, row.arm))}
      aria-label=${`${rests ? "Resume" : "Pause"} ${row.arm}`}
    >
      ${rests ? "Resume" : "Pause"}
    </button>
    <button
      onClick=${() => ask((row.isPinned ? unpinning : pinning)(live, row.arm))}
      aria-label=${`${row.isPinned ? "Unpin" : "Pin"} ${row.arm}`}
    >
      ${row.isPinned ? "Unpin" : "Pin"}
    </button>
    <button
      onClick=${() => ask(sharing(live, row.arm))}
      aria-label=${`Set the share of ${row.arm}`}
    >
      Share…
    </button>
  </div>`;
}

/** @param {{live: import("../live_problem.js").LiveProblem, marks: any, isAdmin: boolean, ask: (question: any) => void}} props */
export function Arms({ live, marks, isAdmin, ask }) {
  const [isOpen, setOpen] = useState(false);
  const [wanted, setWanted] = useState("");
  const { stats } = live;
  if (!stats) return null;
  const rows = stats.policy.arms.map((row) => rowOf(live, row));
  const isLong = rows.length > FIRST + 2;
  const found = rows.filter((row) => row.arm.toLowerCase().includes(wanted.toLowerCase()));
  if (isLong) found.sort((a, b) => (b.share ?? 0) - (a.share ?? 0) || b.pulls - a.pulls);
  const shown = isLong && !isOpen && !wanted ? found.slice(0, FIRST) : found;
  const columns = columnsOf(rows);
  return html`<section class="panel wide" aria-labelledby="arms-title">
    <div class="panel-head">
      <h2 id="arms-title">Arms <span class="soft">${rows.length}</span></h2>
      ${
        isLong &&
        html`<label class="inline"
          ><span class="unseen">Find an arm</span>
          <input
            type="search"
            placeholder="Find an arm"
            value=${wanted}
            onInput=${(event) => setWanted(event.target.value)}
        /></label>`
      }
    </div>
    <div class="scroll">
      <table class="arms" role="table">
        <thead>
          <tr role="row">
            <th scope="col" role="columnheader">Arm</th>
            <th scope="col" role="columnheader" class="num">Share</th>
            ${columns.map(({ title }) => html`<th scope="col" role="columnheader" class="num">${title}</th>`)}
            <th scope="col" role="columnheader">Status</th>
            ${isAdmin && html`<th scope="col" role="columnheader">Change</th>`}
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (row) =>
              html`<tr key=${row.arm} role="row">
                <th scope="row" role="rowheader">
                  <span class="arm-name"
                    ><${Swatch} mark=${marks.mark(row.arm)} /><${ArmName} name=${row.arm}
                  /></span>
                </th>
                <td class="num share" role="cell">
                  <span class="with-bar"
                    ><span class="bar" style=${{ "--part": `${(row.share ?? 0) * 100}%` }}></span
                    >${percent(row.share)}</span
                  >
                </td>
                ${columns.map(({ title, value }) => html`<td class="num" role="cell" data-title=${title}>${value(row)}</td>`)}
                <td role="cell" class="status"><${Status} row=${row} /></td>
                ${isAdmin && html`<td role="cell" class="change"><${Controls} live=${live} row=${row} ask=${ask} /></td>`}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${
      isLong &&
      !wanted &&
      html`<button class="more" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        ${isOpen ? "Show the leading arms only" : `Show all ${brief(rows.length)} arms`}
      </button>`
    }
    ${wanted && !shown.length && html`<p class="empty">No arm has “${wanted}” in its name.</p>`}
  </section>`;
}
