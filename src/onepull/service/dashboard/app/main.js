/** The dashboard: finds the problems, and shows one. */
import {
  html,
  render,
  useEffect,
  useReducer,
  useRef,
  useState,
} from "../vendor/htm-preact-3.1.1.js";
import { addressed, followAddress } from "./address.js";
import { ApiError, ask, key } from "./api.js";
import { ArmMarks } from "./arm_marks.js";
import { Payoff } from "./charts/payoff.js";
import { Traffic } from "./charts/traffic.js";
import { Confirming } from "./confirming.js";
import { LiveProblem } from "./live_problem.js";
import { ending } from "./modal.js";
import { Arms } from "./panels/arms.js";
import { Changes } from "./panels/changes.js";
import { Decisions } from "./panels/decisions.js";
import { ExplanationDialog } from "./panels/explanation.js";
import { Header, LostBanner } from "./panels/header.js";
import { Tiles } from "./panels/tiles.js";
import { KeyForm, NoProblems, UnknownProblem, Unreached } from "./panels/unusual.js";
import { Warnings } from "./panels/warnings.js";
import { WhatIf } from "./panels/what_if.js";

const AGAIN = 1000; // milliseconds until the list of problems is asked for again, if it failed
const SOMETIMES = 10_000;

/** The list of problems, asked for again now and then. */
function useProblems() {
  const [found, setFound] = useState({ problems: null, role: "", error: null });
  const [round, again] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    const gone = new AbortController();
    let timer;
    ask("/v1/problems", { signal: gone.signal }).then(
      (told) => {
        setFound({ ...told, error: null });
        timer = setTimeout(again, told.problems.length ? SOMETIMES : AGAIN);
      },
      (error) => {
        if (gone.signal.aborted) return;
        setFound((old) => ({ ...old, error }));
        const needsKey = error instanceof ApiError && error.status === 401;
        if (!needsKey) timer = setTimeout(again, AGAIN);
      },
    );
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [round]);
  return { ...found, again };
}

/** One problem, live. @param {string} name @returns {?LiveProblem} */
function useLive(name) {
  const [, changed] = useReducer((count) => count + 1, 0);
  const live = useRef(null);
  useEffect(() => {
    if (!name) return undefined;
    const made = new LiveProblem(name, changed);
    live.current = made;
    made.start();
    changed();
    // Ages grow without news.
    const timer = setInterval(changed, 1000);
    return () => {
      clearInterval(timer);
      made.stop();
    };
  }, [name]);
  return live.current?.name === name ? live.current : null;
}

/** How much an arm matters in pictures: its share of the traffic, and where it is the best. */
function weights(live) {
  const sums = new Map(
    Object.entries(live.timeline?.arms ?? {}).map(([arm, { decisions }]) => [
      arm,
      decisions.reduce((sum, one) => sum + one, 0),
    ]),
  );
  const all = Math.max(
    [...sums.values()].reduce((sum, one) => sum + one, 0),
    1,
  );
  const best = live.curves?.best ?? [];
  const isBest = (arm) => best.filter((one) => one === arm).length / Math.max(best.length, 1);
  const pulls = new Map(live.stats?.policy.arms.map((row) => [row.arm, row.pulls]));
  return (arm) =>
    (sums.get(arm) ?? 0) / all +
    (isBest(arm) && 0.05 + 0.3 * isBest(arm)) +
    1e-9 * (pulls.get(arm) ?? 0);
}

function Problem({ live, isAdmin, question, setQuestion }) {
  const marks = useRef(null);
  if (marks.current?.name !== live.name)
    marks.current = Object.assign(new ArmMarks(), { name: live.name });
  const [explained, explain] = useState(null);
  marks.current.update(live.arms, weights(live));
  const shared = { live, marks: marks.current, isAdmin, ask: setQuestion };
  if (!live.stats) {
    return live.connection === "lost"
      ? html`<${Unreached} told="" />`
      : html`<p class="loading">Reading the log…</p>`;
  }
  return html`<${Warnings} live=${live} />
    <${Tiles} live=${live} />
    <div class="panels">
      <${Traffic} ...${shared} />
      <${Payoff} ...${shared} />
      <${Arms} ...${shared} />
      <div class="column">
        <${WhatIf} key=${live.name} ...${shared} />
        <${Changes} ...${shared} />
      </div>
      <${Decisions} ...${shared} explain=${explain} />
    </div>
    <${ExplanationDialog} ...${shared} decision=${explained} close=${ending(explain)} />
    <${Confirming} question=${question} close=${ending(setQuestion)} />`;
}

function Content({ found, name, live, question, setQuestion }) {
  const { problems, error, role, again } = found;
  if (error instanceof ApiError && error.status === 401) {
    return html`<${KeyForm} again=${again} wasWrong=${Boolean(key())} />`;
  }
  if (!problems)
    return error
      ? html`<${Unreached} told=${error.message} />`
      : html`<p class="loading">Loading…</p>`;
  if (!problems.length) return html`<${NoProblems} />`;
  if (!problems.some((one) => one.name === name))
    return html`<${UnknownProblem} name=${name} problems=${problems} />`;
  if (!live) return null;
  return html`<${Problem}
    live=${live}
    isAdmin=${role === "admin"}
    question=${question}
    setQuestion=${setQuestion}
  />`;
}

function App() {
  const found = useProblems();
  const [address, setAddress] = useState(addressed());
  const [question, setQuestion] = useState(null);
  useEffect(() => followAddress(() => setAddress(addressed())), []);
  const problems = found.problems ?? [];
  const name = address || problems[0]?.name || "";
  const isThere = problems.some((one) => one.name === name);
  const live = useLive(isThere ? name : "");
  useEffect(() => {
    document.title = name ? `${name} · onepull` : "onepull";
  }, [name]);
  return html`<${Header}
      problems=${problems}
      name=${name}
      live=${live}
      role=${found.problems ? found.role : ""}
      ask=${setQuestion}
    />
    <${LostBanner} live=${live} />
    <main id="main" tabindex="-1">
      <${Content}
        found=${found}
        name=${name}
        live=${live}
        question=${question}
        setQuestion=${setQuestion}
      />
    </main>
    <footer>
      <span>onepull</span>
      <a href="/openapi.json">API</a> ${!key() && html`<a href="/metrics">Metrics</a>`}
      <span class="soft"
        >${live?.stats ? `${live.stats.policy.policy} · event ${live.stats.sequence.toLocaleString("en")}` : ""}</span
      >
    </footer>`;
}

const place = document.getElementById("app");
place.textContent = "";
render(html`<${App} />`, place);
