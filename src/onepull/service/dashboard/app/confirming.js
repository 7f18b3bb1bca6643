/** Ask twice: a change is made only after a dialog has said what it does. */
import { html, useEffect, useState } from "../vendor/htm-preact-3.1.1.js";
import { useModal } from "./modal.js";

/**
 * @typedef {Object} Question
 * @property {string} title
 * @property {string} told What will happen.
 * @property {string} yes The name of the button.
 * @property {() => Promise<any>} act
 * @property {boolean} [isGrave]
 * @property {any} [form] Fields that belong to it.
 */

/** @param {{question: ?Question, close: (question: Question) => void}} props */
export function Confirming({ question, close }) {
  const { dialog, closed } = useModal(question, close);
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);

  useEffect(() => {
    setError("");
    setBusy(false);
  }, [question]);

  const act = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await question.act();
      close(question);
    } catch (failed) {
      setError(failed.message);
    }
    setBusy(false);
  };

  return html`<dialog
    ref=${dialog}
    class="confirm"
    aria-labelledby="confirm-title"
    onClose=${closed}
  >
    ${
      question &&
      html`<form onSubmit=${act}>
        <h2 id="confirm-title">${question.title}</h2>
        <p>${question.told}</p>
        ${question.form}
        <p class="note">This takes effect at once and is written to the log.</p>
        ${error && html`<p class="problem" role="alert">${error}</p>`}
        <div class="buttons">
          <button type="button" autofocus onClick=${() => close(question)}>Cancel</button>
          <button type="submit" class=${question.isGrave ? "grave" : "primary"} disabled=${isBusy}>
            ${isBusy ? "Working…" : question.yes}
          </button>
        </div>
      </form>`
    }
  </dialog>`;
}
