/** What may be wrong: drift, dependence, the log. It says nothing where nothing is known. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { brief, count, duration } from "../format.js";

const SHORT = 300; // observations; a shorter half-life leaves little to learn from

/** How many outcomes a second there were, since the first one in the time span. */
function learnedPerSecond(timeline) {
  const rows = Object.values(timeline?.arms ?? {}).map(({ observations }) => observations);
  const counts = (rows[0] ?? []).map((_, i) => rows.reduce((sum, row) => sum + row[i], 0));
  const first = counts.findIndex(Boolean);
  if (first < 0) return 0;
  return counts.reduce((sum, one) => sum + one, 0) / ((counts.length - first) * timeline.width);
}

/** @param {import("../live_problem.js").LiveProblem} live @returns {{sign: string, title: string, told: string}[]} */
export function warningsOf(live) {
  const { stats, warnings, timeline } = live;
  const found = [];
  if (!stats) return found;
  const add = (sign, title, told) => found.push({ sign, title, told });
  if (live.error) add("bad", "Not all numbers could be read.", live.error.message);
  if (!stats.healthy)
    add(
      "bad",
      "The log cannot be written.",
      "Observations are refused until it can. Look at the disk and at the messages of the service.",
    );
  if (stats.unrecorded)
    add(
      "warn",
      `${count(stats.unrecorded)} decisions could not be stored.`,
      "Their observations are learned all the same.",
    );
  if (stats.lag > 1000)
    add(
      "warn",
      `This worker is ${brief(stats.lag)} events behind.`,
      "It learns what the others have written as fast as it can.",
    );
  if (stats.controls.pinned != null)
    add("info", `${stats.controls.pinned} is pinned.`, "The policy does not choose.");
  if (stats.mode !== "live")
    add("info", `Mode ${stats.mode}.`, `Every request gets ${stats.fallback}.`);
  const resting = [...new Set([...stats.controls.paused, ...stats.drained])];
  if (resting.length)
    add(
      "info",
      `Not chosen: ${resting.slice(0, 6).join(", ")}${resting.length > 6 ? ` and ${resting.length - 6} more` : ""}.`,
      "Paused or draining.",
    );
  if (warnings?.half_life != null) {
    const pace = learnedPerSecond(timeline);
    const long =
      pace > 0 ? `, about ${duration(warnings.half_life / pace)} at the present pace` : "";
    const sign = warnings.half_life <= SHORT ? "warn" : "info";
    add(
      sign,
      "Arms seem to change.",
      `${stats.policy.policy} believes that half of a change is gone after ` +
        `${count(warnings.half_life)} observations${long}. Older outcomes count less.`,
    );
  }
  for (const one of warnings?.dependent ?? []) {
    const strength = one.correlation.toFixed(2);
    const evidence = `Rank correlation ${strength} in ${count(one.pairs)} pairs of neighbours.`;
    const isMore = one.correlation > 0;
    if (one.state === "failed") {
      add(
        "warn",
        `Failures of ${one.arm} get ${isMore ? "more" : "fewer"} with ${one.context}.`,
        `${evidence} Every failure counts against ${one.arm} in all requests. If they are answers ` +
          "that came too late, let decisions expire later, or declare the state that an expired " +
          "one stands for.",
      );
    } else {
      add(
        "warn",
        `${one.state} of ${one.arm} ${isMore ? "rises" : "falls"} with ${one.context}.`,
        `${evidence} A state should not depend on the request: estimates for other requests may ` +
          "be wrong. Put what depends on the request into the formula.",
      );
    }
  }
  return found;
}

const SIGNS = { bad: "✕", warn: "▲", info: "i" };
const WORDS = { bad: "Error", warn: "Warning", info: "Note" };

/** @param {{live: import("../live_problem.js").LiveProblem}} props */
export function Warnings({ live }) {
  const found = warningsOf(live);
  if (!found.length) return null;
  return html`<section class="warnings" aria-label="Warnings">
    <ul>
      ${found.map(
        ({ sign, title, told }) =>
          html`<li class=${`banner ${sign}`} key=${title}>
            <span aria-hidden="true">${SIGNS[sign]}</span
            ><span class="unseen">${WORDS[sign]}: </span>
            <span><strong>${title}</strong> ${told}</span>
          </li>`,
      )}
    </ul>
  </section>`;
}
