/** The names of arms with their marks, beside a picture. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { markOf } from "../arm_marks.js";

/** The mark of an arm; its name is always written beside it. @param {{mark: any}} props */
export const Swatch = ({ mark }) =>
  html`<span class=${`swatch swatch-${mark.slot < 0 ? "others" : mark.slot}`} aria-hidden="true"
    >${mark.shape}</span
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
            <span class="key-name" title=${name}>${name}</span>
            <span class="num">${value}</span>
          </li>`,
      )}
    </ul>
  </div>
`;
