/** The names of arms with their marks, beside a picture. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { markOf } from "../arm_marks.js";

/** The mark of an arm; its name is always written beside it. @param {{mark: any}} props */
export const Swatch = ({ mark }) =>
  html`<span class=${`swatch swatch-${mark.slot < 0 ? "others" : mark.slot}`} aria-hidden="true"
    >${mark.shape}</span
  >`;

const TAIL = 8; // characters at the end of a long name, where similar names differ

/** The name of an arm; without room for all of it, its middle is left out. @param {{name: string}} props */
export const ArmName = ({ name }) =>
  name.length <= 2 * TAIL
    ? html`<span class="name">${name}</span>`
    : html`<span class="name" title=${name}
        ><span class="name-head">${name.slice(0, -TAIL)}</span
        ><span class="name-tail">${name.slice(-TAIL)}</span></span
      >`;

/**
 * @param {{title: string, rows: {name: string, mark?: any, value: string}[]}} props
 */
export const ArmKey = ({ title, rows }) => html`
  <div class="key">
    <span class="key-title">${title}</span>
    <ul>
      ${rows.map(
        ({ name, mark, value }) =>
          html`<li key=${name}>
            <${Swatch} mark=${mark ?? markOf(-1)} />
            <${ArmName} name=${name} />
            <span class="num">${value}</span>
          </li>`,
      )}
    </ul>
  </div>
`;
