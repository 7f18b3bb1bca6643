/** The questions before each change that an operator can make. */
import { ask, problemPath } from "./api.js";
import { html } from "../vendor/htm-preact-3.1.1.js";
import { percent } from "./format.js";

const patch = (live, rest, body) =>
  ask(problemPath(live.name, rest), { method: "PATCH", body }).then((stats) => {
    live.stats = stats;
    return live.refresh();
  });
const arm = (live, name, body) => patch(live, `arms/${encodeURIComponent(name)}`, body);
const controls = (live, body) => patch(live, "controls", body);

/** @typedef {import("./live_problem.js").LiveProblem} Live */
/** @typedef {import("./confirming.js").Question} Question */

/** @param {Live} live @param {string} name @returns {Question} */
export const pausing = (live, name) => ({
  title: `Pause ${name}?`,
  told: `${name} will not be chosen until it is resumed. Its pulls in flight are still learned, and nothing that was learned is lost.`,
  yes: `Pause ${name}`,
  isGrave: true,
  act: () => arm(live, name, { status: "paused" }),
});

/** @param {Live} live @param {string} name @returns {Question} */
export const resuming = (live, name) => ({
  title: `Resume ${name}?`,
  told: `${name} can be chosen again.`,
  yes: `Resume ${name}`,
  act: () => arm(live, name, { status: "active" }),
});

/** @param {Live} live @param {string} name @returns {Question} */
export const pinning = (live, name) => ({
  title: `Pin ${name}?`,
  told: `Every request goes to ${name}, unless it is paused or not eligible. The policy goes on learning from what it sees.`,
  yes: `Pin ${name}`,
  isGrave: true,
  act: () => controls(live, { pin: name }),
});

/** @param {Live} live @param {string} name @returns {Question} */
export const unpinning = (live, name) => ({
  title: `Unpin ${name}?`,
  told: "The policy chooses again.",
  yes: `Unpin ${name}`,
  act: () => controls(live, { pin: null }),
});

/** @param {Live} live @param {string} name @returns {Question} */
export function sharing(live, name) {
  const now = live.stats.controls.shares[name] ?? { least: 0, most: 1 };
  const wanted = { least: now.least * 100, most: now.most * 100 };
  const read = (which) => (event) => {
    wanted[which] = Number(event.target.value);
  };
  const input = (which, text) =>
    html`<label class="stacked"
      ><span>${text}</span>
      <span class="with-unit"
        ><input
          type="number"
          min="0"
          max="100"
          step="any"
          required
          value=${Number(wanted[which].toFixed(4))}
          onInput=${read(which)}
        />
        %</span
      ></label
    >`;
  return {
    title: `Share of ${name}`,
    told: `How much of the traffic ${name} gets at least and at most. Now: ${percent(now.least)} to ${percent(now.most)}.`,
    yes: "Set share",
    form: html`<div class="row">${input("least", "At least")}${input("most", "At most")}</div>`,
    act: () => arm(live, name, { min_share: wanted.least / 100, max_share: wanted.most / 100 }),
  };
}

const MODES = {
  live: "The policy chooses the arm of every request.",
  shadow: "Every request gets the fallback arm. The policy's own choice is recorded beside it.",
  off: "Every request gets the fallback arm. Only observations are recorded.",
};

/** @param {Live} live @param {"live"|"shadow"|"off"} mode @returns {Question} */
export function changingMode(live, mode) {
  const arms = live.arms;
  let fallback = live.stats.fallback ?? arms[0];
  const needs = mode !== "live";
  return {
    title: `Switch to ${mode}?`,
    told: MODES[mode],
    yes: `Switch to ${mode}`,
    isGrave: needs,
    form:
      needs &&
      html`<label class="stacked"
        ><span>Fallback arm</span>
        <select
          value=${fallback}
          onChange=${(event) => {
            fallback = event.target.value;
          }}
        >
          ${arms.map((name) => html`<option value=${name} selected=${name === fallback}>${name}</option>`)}
        </select></label
      >`,
    act: () => controls(live, needs ? { mode, fallback } : { mode }),
  };
}

/** @param {Live} live @param {string} reward @returns {Question} */
export function changingReward(live, reward) {
  let relearn = false;
  return {
    title: "Use this formula?",
    told: "From now on arms are chosen by it. Everything that was learned is kept and valued anew.",
    yes: "Use formula",
    isGrave: true,
    form: html`<pre class="formula">${reward}</pre>
      <label class="choice"
        ><input
          type="checkbox"
          onChange=${(event) => {
            relearn = event.target.checked;
          }}
        />
        <span
          >Learn all outcomes of the log again. This is exact also where states were merged, and
          takes longer.</span
        ></label
      >`,
    act: () => controls(live, relearn ? { reward, relearn } : { reward }),
  };
}
