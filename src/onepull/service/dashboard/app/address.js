/** Which problem the address of the page names: `#/name`. */

/** @returns {string} */
export const addressed = () => {
  try {
    return decodeURIComponent(location.hash.replace(/^#\/?/, ""));
  } catch {
    return "";
  }
};

/** @param {string} name */
export const addressOf = (name) => `#/${encodeURIComponent(name)}`;

/** @param {() => void} done @returns {() => void} */
export function followAddress(done) {
  addEventListener("hashchange", done);
  return () => removeEventListener("hashchange", done);
}
