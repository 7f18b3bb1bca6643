/** Light or dark: as the system says, or as the reader chose. */

const KEPT = "onepull-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
/** @type {Set<() => void>} */
const followers = new Set();

/** @returns {"system"|"light"|"dark"} */
export const chosenTheme = () => /** @type {any} */ (localStorage.getItem(KEPT)) ?? "system";

/** @returns {boolean} */
export const isDark = () => (chosenTheme() === "system" ? dark.matches : chosenTheme() === "dark");

/** @param {"system"|"light"|"dark"} theme */
export function chooseTheme(theme) {
  if (theme === "system") localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, theme);
  apply();
}

/** Call back whenever colours change. @param {() => void} done @returns {() => void} */
export function followTheme(done) {
  followers.add(done);
  return () => followers.delete(done);
}

function apply() {
  const theme = chosenTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  known.clear();
  for (const done of followers) done();
}

/** @type {Map<string, string>} */
const known = new Map();

/** A colour of the style sheet, for a canvas. @param {string} name @returns {string} */
export function colour(name) {
  let found = known.get(name);
  if (found === undefined) {
    // A variable itself is not resolved; the colour of an element is.
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    found = getComputedStyle(probe).color;
    probe.remove();
    known.set(name, found);
  }
  return found;
}

/** The same colour, partly transparent. @param {string} name @param {number} part */
export const tint = (name, part) =>
  colour(name).replace(/^rgb\((.*)\)$/, (_, parts) => `rgba(${parts}, ${part})`);

dark.addEventListener("change", apply);
apply();
