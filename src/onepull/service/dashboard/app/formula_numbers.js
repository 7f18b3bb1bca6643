/** The numbers in a formula, such as a deadline or a price, so that each can be turned alone. */

// A number that is not part of a name, with an exponent or not.
const NUMBER = /(?<![\w.])(\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])/g;
const MOST = 6;

/**
 * @param {string} formula
 * @returns {{value: number, start: number, end: number, around: string}[]}
 */
export function numbersIn(formula) {
  return [...formula.matchAll(NUMBER)].slice(0, MOST).map((match) => {
    const [start, end] = [match.index, match.index + match[0].length];
    const before = formula
      .slice(Math.max(start - 14, 0), start)
      .replace(/^\S*\s/, start > 14 ? "" : "$&");
    const after = formula.slice(end, end + 14).replace(/\s\S*$/, "");
    return {
      value: Number(match[0]),
      start,
      end,
      around: `${before.trimStart()}▢${after.trimEnd()}`,
    };
  });
}

/**
 * The formula with another number at one place.
 * @param {string} formula @param {{start: number, end: number}} place @param {string} text
 */
export const replaced = (formula, { start, end }, text) =>
  formula.slice(0, start) + text + formula.slice(end);
