/** The head of the page: which problem, its mode, the connection, the theme. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { addressOf } from "../address.js";
import { changingMode } from "../changes_to_make.js";
import { duration } from "../format.js";
import { chooseTheme, chosenTheme } from "../theme.js";

const NEEDED = "Controls need a key with the role admin";
const WORDS = { connecting: "Connecting", live: "Live", lost: "Disconnected" };

/** @param {{live: ?import("../live_problem.js").LiveProblem}} props */
const Connection = ({ live }) =>
  live &&
  html`<span class=${`badge connection ${live.connection}`} role="status">
    <span aria-hidden="true">${{ live: "●", lost: "✕", connecting: "◌" }[live.connection]}</span>
    ${WORDS[live.connection]}
  </span>`;

function Theme() {
  const [theme, setTheme] = useState(chosenTheme());
  const choose = (event) => {
    chooseTheme(event.target.value);
    setTheme(event.target.value);
  };
  return html`<label class="inline"
    ><span class="unseen">Colours</span>
    <select value=${theme} onChange=${choose} aria-label="Colours">
      <option value="system">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select></label
  >`;
}

/** @param {{live: any, isAdmin: boolean, ask: (question: any) => void}} props */
function Mode({ live, isAdmin, ask }) {
  const mode = live?.stats?.mode;
  if (!mode) return null;
  if (!isAdmin) return html`<span class=${`badge mode-${mode}`}>mode ${mode}</span>`;
  const change = (event) => {
    const wanted = event.target.value;
    event.target.value = mode; // it changes when the server says so
    if (wanted !== mode) ask(changingMode(live, wanted));
  };
  return html`<label class="inline"
    ><span>Mode</span>
    <select value=${mode} onChange=${change} class=${`mode-${mode}`}>
      ${["live", "shadow", "off"].map((one) => html`<option value=${one}>${one}</option>`)}
    </select></label
  >`;
}

/**
 * @param {{problems: import("../types.js").Summary[], name: string, live: any, role: string,
 *   ask: (question: any) => void}} props
 */
export const Header = ({ problems, name, live, role, ask }) =>
  html`<header class="top">
    <a
      class="skip"
      href="#main"
      onClick=${(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}
      >Skip to content</a
    >
    <div class="brand">
      <img src="/icon.svg" alt="" width="26" height="26" /><span>onepull</span>
    </div>
    <nav aria-label="Problems">
      ${
        problems.length > 1
          ? html`<h1 class="unseen">${name}</h1>
              <label class="inline"
                ><span class="unseen">Problem</span>
                <select
                  value=${name}
                  aria-label="Problem"
                  onChange=${(event) => {
                    location.hash = addressOf(event.target.value);
                  }}
                >
                  ${problems.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
                </select></label
              >`
          : html`<h1 class="problem-name">${name}</h1>`
      }
    </nav>
    <div class="top-right">
      <${Mode} live=${live} isAdmin=${role === "admin"} ask=${ask} />
      ${role && role !== "admin" && html`<span class="badge" title=${NEEDED}>${role}: look only</span>`}
      <${Connection} live=${live} />
      <${Theme} />
    </div>
  </header>`;

/** What is shown above everything if the server does not answer. */
export const LostBanner = ({ live }) =>
  live?.connection === "lost" &&
  live.stats &&
  html`<div class="banner bad" role="alert">
    <strong
      >${live.refusal ? `No live stream: ${live.refusal}.` : "The service does not answer."}</strong
    >
    ${` What you see is from ${duration((Date.now() - live.heardAt) / 1000)} ago. `} The page tries
    again by itself; nothing that was acknowledged is lost.
  </div>`;
