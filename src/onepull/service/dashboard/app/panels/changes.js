/** Who changed what: the newest changes in the log. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { change, moment } from "../format.js";

const FIRST = 8;

/** @param {{live: import("../live_problem.js").LiveProblem}} props */
export function Changes({ live }) {
  const [isOpen, setOpen] = useState(false);
  const rows = isOpen ? live.changes : live.changes.slice(0, FIRST);
  return html`<section class="panel" aria-labelledby="changes-title">
    <div class="panel-head">
      <h2 id="changes-title">Changes</h2>
      <span class="soft">from the log</span>
    </div>
    ${
      rows.length
        ? html`<ol class="changes">
            ${rows.map(
              (event) =>
                html`<li key=${event.seq}>
                  <time class="num">${moment(event.time)}</time><span>${change(event)}</span>
                  <span class="soft">${event.by ? `by ${event.by}` : ""}</span>
                </li>`,
            )}
          </ol>`
        : html`<p class="empty">Nobody has changed anything yet.</p>`
    }
    ${
      live.changes.length > FIRST &&
      html`<button class="more" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        ${isOpen ? "Show fewer" : `Show all ${live.changes.length}`}
      </button>`
    }
  </section>`;
}
