/** The formula, and a box to try another one on what was logged. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ask, problemPath, serverNow } from "../api.js";
import { changingReward } from "../changes_to_make.js";
import { Swatch } from "../charts/arm_key.js";
import { BestStrip } from "../charts/best_strip.js";
import { aligned, count, field, number, percent, signed } from "../format.js";
import { numbersIn, replaced } from "../formula_numbers.js";

const WAIT = 200; // milliseconds after the last key
const ROWS = 10;

/** The arms whose share is largest, then or now. */
const leading = (arms) => Object.entries(arms)
  .sort(([, a], [, b]) => Math.max(b.then ?? 0, b.now ?? 0) - Math.max(a.then ?? 0, a.now ?? 0))
  .slice(0, ROWS);

const Bars = ({ now, then }) => html`<span class="bars" aria-hidden="true">
  <span class="bar now" style=${{ "--part": `${(now ?? 0) * 100}%` }}></span>
  <span class="bar then" style=${{ "--part": `${(then ?? 0) * 100}%` }}></span></span>`;

/** Shares and payoff, now and then. */
function Compared({ told, marks, isLog, isList }) {
  const gain = told.earned != null && told.was_earned != null ? told.earned - told.was_earned : null;
  const rows = leading(told.arms);
  const figure = aligned(rows.map(([, row]) => row.earned));
  const hidden = Object.keys(told.arms).length - rows.length;
  return html`
    <p class="verdict">In the last ${count(told.requests)} requests: <strong>${number(told.earned)}</strong>${told.error != null ? ` ± ${number(told.error)}` : ""} per request by this formula,${" "}
      ${gain != null && Math.abs(gain) < 1e-9 ? "the same as with the present choices." : html`<strong>${signed(gain)}</strong> against the present choices (${number(told.was_earned)}).`}</p>
    <div class="scroll"><table>
      <thead><tr><th scope="col">Arm</th><th scope="col"><span class="unseen">Shares</span></th><th scope="col" class="num">Share now</th>
        <th scope="col" class="num">Share then</th><th scope="col" class="num">Change</th>${told.best && html`<th scope="col" class="num">Payoff then</th>`}</tr></thead>
      <tbody>${rows.map(([name, row]) => html`<tr key=${name}>
        <th scope="row"><span class="arm-name"><${Swatch} mark=${marks.mark(name)} /><span>${name}</span></span></th>
        <td><${Bars} now=${row.now} then=${row.then} /></td>
        <td class="num">${percent(row.now)}</td><td class="num">${percent(row.then)}</td>
        <td class="num">${row.now == null || row.then == null ? "–" : signed((row.then - row.now) * 100, (value) => `${value.toFixed(0)} pts`)}</td>
        ${told.best && html`<td class="num">${figure(row.earned)}</td>`}</tr>`)}</tbody>
    </table></div>
    ${hidden > 0 && html`<p class="note">${hidden} more arms have smaller shares.</p>`}
    ${told.best && html`<div class="strips">
      <${BestStrip} title="best now" curves=${{ points: told.points, best: told.was_best }} marks=${marks} isLog=${isLog} isList=${isList} />
      <${BestStrip} title="best then" curves=${{ points: told.points, best: told.best }} marks=${marks} isLog=${isLog} isList=${isList} />
      ${told.field && html`<p class="note strip-note">by ${told.field}, from ${field(told.points[0])} to ${field(told.points.at(-1))}</p>`}
    </div>`}
    <p class="note">${told.best ? "Each request goes to the arm with the best mean of its newest outcomes; exploration is left out." : "The policy starts anew and explores, as it would have."}</p>
    ${told.notes.map((note) => html`<p class="note">${note}.</p>`)}`;
}

const plain = (told) => ({
  ...told,
  arms: Object.fromEntries(Object.entries(told.arms).map(([name, row]) =>
    [name, { now: row.was_share, then: row.share, earned: row.earned }])),
});

/** A replay in the same shape; it has no strips, and no payoff of each arm. */
function ofReplay(told, arms) {
  const rows = arms.map((arm) => [arm, { now: told.logged.shares[arm] ?? 0, then: told.replayed.shares[arm] ?? 0, earned: null }]);
  return {
    requests: told.decisions, earned: told.replayed.value, was_earned: told.logged.value,
    error: told.replayed.error == null ? null : 1.96 * told.replayed.error, best: null, notes: told.notes, arms: Object.fromEntries(rows),
  };
}

/** One number of the formula. */
const Turn = ({ place, text, change }) => html`<label class="stacked turn">
  <code>${place.around}</code>
  <input type="number" step=${place.value ? 10 ** Math.floor(Math.log10(Math.abs(place.value))) / 2 : 1} value=${place.value}
    aria-label=${`Number in ${place.around.replace("▢", "…")}`}
    onInput=${(event) => event.target.value !== "" && change(replaced(text, place, event.target.value))} /></label>`;

/** @param {{live: import("../live_problem.js").LiveProblem, marks: any, isAdmin: boolean, ask: (question: any) => void}} props */
export function WhatIf({ live, marks, isAdmin, ask: question }) {
  const present = live.stats?.reward ?? "";
  const [text, setText] = useState(null);
  const [told, setTold] = useState(null);
  const [error, setError] = useState("");
  const [isReplaying, setReplaying] = useState(false);
  const [isReplay, setIsReplay] = useState(false);
  const gone = useRef(null);
  const formula = text ?? present;
  const isChanged = formula.trim() !== present.trim();

  useEffect(() => {
    gone.current?.abort();
    setReplaying(false);
    if (!formula.trim() || !isChanged) {
      setTold(null);
      setError("");
      return undefined;
    }
    const mine = (gone.current = new AbortController());
    const timer = setTimeout(async () => {
      try {
        const found = await ask(problemPath(live.name, "what-if"), { method: "POST", body: { reward: formula }, signal: mine.signal });
        setTold(plain(found));
        setIsReplay(false);
        setError("");
      } catch (failed) {
        if (!mine.signal.aborted) setError(failed.message);
      }
    }, WAIT);
    return () => clearTimeout(timer);
  }, [formula, isChanged]);

  const replay = async () => {
    gone.current?.abort();
    const mine = (gone.current = new AbortController());
    setReplaying(true);
    try {
      const body = { reward: formula, from: serverNow() - live.seconds };
      setTold(ofReplay(await ask(problemPath(live.name, "replay"), { method: "POST", body, signal: mine.signal }), live.arms));
      setIsReplay(true);
      setError("");
    } catch (failed) {
      if (!mine.signal.aborted) setError(failed.message);
    }
    if (!mine.signal.aborted) setReplaying(false);
  };

  const places = numbersIn(formula);
  const space = live.described?.problem.context?.[told?.field];
  const [isLog, isList] = [space?.scale === "log", Array.isArray(space)];
  return html`<section class="panel" aria-labelledby="what-if-title">
    <div class="panel-head"><h2 id="what-if-title">What if the formula were another?</h2></div>
    ${present ? html`<p class="present"><span class="soft">Now</span> <code class="formula">${present}</code></p>`
      : html`<p class="note">The present reward is Python code, which cannot be shown. A formula can be tried all the same.</p>`}
    <label class="stacked"><span>Try</span>
      <textarea id="formula" rows="2" spellcheck="false" autocapitalize="off" value=${formula} aria-invalid=${error ? "true" : "false"} aria-describedby="formula-said"
        onInput=${(event) => setText(event.target.value)}></textarea></label>
    ${places.length > 0 && html`<div class="turns" role="group" aria-label="Numbers of the formula">
      ${places.map((place, i) => html`<${Turn} key=${i} place=${place} text=${formula} change=${setText} />`)}</div>`}
    <div class="buttons">
      <button disabled=${!isChanged} onClick=${() => setText(null)}>Reset</button>
      <button disabled=${!isChanged || !told || isReplaying} onClick=${replay} title="Decide the requests of the time span again, and learn as the policy would have">
        ${isReplaying ? "Replaying, up to 8 s…" : "Replay with learning"}</button>
      ${isAdmin && html`<button class="primary" disabled=${!isChanged || !told || Boolean(error)} onClick=${() => question(changingReward(live, formula))}>Use this formula…</button>`}
    </div>
    <div id="formula-said" aria-live="polite">
      ${error && html`<p class="problem">${error}</p>`}
      ${!isChanged && html`<p class="note">Change the formula or one of its numbers, such as a price or a deadline, to see how shares and payoff would change. Nothing is sent to the arms: the logged outcomes are valued anew.</p>`}
    </div>
    ${isChanged && told && html`<div class=${error ? "old" : ""} id="what-if-told">
      ${isReplay && html`<p class="badge">replayed with learning</p>`}
      <${Compared} told=${told} marks=${marks} isLog=${isLog} isList=${isList} /></div>`}
  </section>`;
}
