/** The formula, and a box to try another one on what was logged. */
import { html, useEffect, useRef, useState } from "../../vendor/htm-preact-3.1.1.js";
import { ask, problemPath, serverNow } from "../api.js";
import { changingReward } from "../changes_to_make.js";
import { numbersIn, replaced } from "../formula_numbers.js";
import { Compared, ofReplay, ofWhatIf } from "./compared.js";

const ADVICE =
  "Change the formula or one of its numbers, such as a price or a deadline, to see how shares and " +
  "payoff would change. Nothing is sent to the arms: the logged outcomes are valued anew.";
const WAIT = 200; // milliseconds after the last key

/** One number of the formula. */
const Turn = ({ place, text, change }) =>
  html`<label class="stacked turn">
    <code>${place.around}</code>
    <input
      type="number"
      step=${place.value ? 10 ** Math.floor(Math.log10(Math.abs(place.value))) / 2 : 1}
      value=${place.value}
      aria-label=${`Number in ${place.around.replace("▢", "…")}`}
      onInput=${(event) => event.target.value !== "" && change(replaced(text, place, event.target.value))}
  /></label>`;

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
        const found = await ask(problemPath(live.name, "what-if"), {
          method: "POST",
          body: { reward: formula },
          signal: mine.signal,
        });
        setTold(ofWhatIf(found));
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
      setTold(
        ofReplay(
          await ask(problemPath(live.name, "replay"), {
            method: "POST",
            body,
            signal: mine.signal,
          }),
          live.arms,
        ),
      );
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
    ${
      present
        ? html`<p class="present">
            <span class="soft">Now</span> <code class="formula">${present}</code>
          </p>`
        : html`<p class="note">
            The present reward is Python code, which cannot be shown. A formula can be tried all the
            same.
          </p>`
    }
    <label class="stacked"
      ><span>Try</span>
      <textarea
        id="formula"
        rows="2"
        spellcheck="false"
        autocapitalize="off"
        value=${formula}
        aria-invalid=${error ? "true" : "false"}
        aria-describedby="formula-said"
        onInput=${(event) => setText(event.target.value)}
      ></textarea>
    </label>
    ${
      places.length > 0 &&
      html`<div class="turns" role="group" aria-label="Numbers of the formula">
        ${places.map((place, i) => html`<${Turn} key=${i} place=${place} text=${formula} change=${setText} />`)}
      </div>`
    }
    <div class="buttons">
      <button disabled=${!isChanged} onClick=${() => setText(null)}>Reset</button>
      <button
        disabled=${!isChanged || !told || isReplaying}
        onClick=${replay}
        title="Decide the requests of the time span again, and learn as the policy would have"
      >
        ${isReplaying ? "Replaying, up to 8 s…" : "Replay with learning"}
      </button>
      ${
        isAdmin &&
        html`<button
          class="primary"
          disabled=${!isChanged || !told || Boolean(error)}
          onClick=${() => question(changingReward(live, formula))}
        >
          Use this formula…
        </button>`
      }
    </div>
    <div id="formula-said" aria-live="polite">
      ${error && html`<p class="problem">${error}</p>`}
      ${!isChanged && html`<p class="note">${ADVICE}</p>`}
    </div>
    ${
      isChanged &&
      told &&
      html`<div class=${error ? "old" : ""} id="what-if-told">
        ${isReplay && html`<p class="badge">replayed with learning</p>`}
        <${Compared} told=${told} marks=${marks} isLog=${isLog} isList=${isList} />
      </div>`
    }
  </section>`;
}
