/** What is shown instead of a problem: no problem, no key, no server. */
import { html, useState } from "../../vendor/htm-preact-3.1.1.js";
import { addressOf } from "../address.js";
import { forgetKey, key, setKey } from "../api.js";

/** @param {{again: () => void, wasWrong: boolean}} props */
export function KeyForm({ again, wasWrong }) {
  const [text, setText] = useState("");
  const send = (event) => {
    event.preventDefault();
    setKey(text);
    again();
  };
  return html`<section class="panel alone" aria-labelledby="key-title">
    <h2 id="key-title">This service needs a key</h2>
    <p>
      Paste a key. One with the role reader can look; controls need the role admin. It is kept until
      this tab is closed.
    </p>
    ${wasWrong && html`<p class="problem" role="alert">This key is not known to the service.</p>`}
    <form onSubmit=${send}>
      <label class="stacked"
        ><span>Key</span>
        <input
          type="password"
          autocomplete="off"
          required
          value=${text}
          onInput=${(event) => setText(event.target.value)}
      /></label>
      <div class="buttons">
        <button class="primary">Use key</button>${
          key() &&
          html`<button
            type="button"
            onClick=${() => {
              forgetKey();
              again();
            }}
          >
            Forget key
          </button>`
        }
      </div>
    </form>
    <p class="note">
      An administrator makes keys with <code>onepull key add NAME --role reader</code>.
    </p>
  </section>`;
}

export const NoProblems = () =>
  html`<section class="panel alone" aria-labelledby="none-title">
    <h2 id="none-title">No problem yet</h2>
    <p>The service runs and has nothing to decide. Start it with a file:</p>
    <pre>onepull serve router.toml</pre>
    <p>or create a problem over HTTP:</p>
    <pre>
curl -X PUT ${location.origin}/v1/problems/links -H 'content-type: application/json' -d '{
  "problem": {"arms": ["wifi", "lte"], "reward": "min(bits, capacity)",
    "context": {"bits": [1, 2, 4]}, "state": {"capacity": {"low": 0, "high": 7}}}}'</pre>
    <p class="note">This page notices by itself.</p>
  </section>`;

/** @param {{name: string, problems: {name: string}[]}} props */
export const UnknownProblem = ({ name, problems }) =>
  html`<section class="panel alone" aria-labelledby="unknown-title">
    <h2 id="unknown-title">No problem is called “${name}”</h2>
    <p>The service has:</p>
    <ul>
      ${problems.map((one) => html`<li><a href=${addressOf(one.name)}>${one.name}</a></li>`)}
    </ul>
  </section>`;

/** @param {{told: string}} props */
export const Unreached = ({ told }) =>
  html`<section class="panel alone" role="alert">
    <h2>The service does not answer</h2>
    <p>${told} The page tries again every second. Is <code>onepull serve</code> running?</p>
  </section>`;
