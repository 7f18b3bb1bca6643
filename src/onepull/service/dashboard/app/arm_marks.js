/**
 * How arms are told apart: a colour, a dash pattern and a shape.
 *
 * With many arms only the leading ones get a mark of their own; all others are one group. An arm
 * keeps its mark as long as it leads.
 */

export const MARKS = 8;
export const OTHERS = "others";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [14, 4], [2, 2, 6, 2], [1, 4]];
export const SHAPES = ["●", "■", "▲", "◆", "▼", "★", "✚", "◢"];

/** @typedef {{slot: number, colour: string, dash: number[], shape: string}} Mark */

/** @param {number} slot @returns {Mark} */
export const markOf = (slot) =>
  slot < 0
    ? { slot, colour: "arm-others", dash: [3, 3], shape: "○" }
    : { slot, colour: `arm-${slot}`, dash: DASHES[slot], shape: SHAPES[slot] };

/** Gives marks to the leading arms. */
export class ArmMarks {
  constructor() {
    /** @type {Map<string, number>} */
    this.slots = new Map();
  }

  /**
   * Choose which arms lead.
   * @param {string[]} arms All arms, in the order of the problem.
   * @param {(arm: string) => number} weight How important an arm is now.
   */
  update(arms, weight) {
    const many = arms.length > MARKS;
    const leading = many ? this.#leading(arms, weight) : arms;
    for (const arm of [...this.slots.keys()]) if (!leading.includes(arm)) this.slots.delete(arm);
    const free = [...Array(MARKS).keys()].filter(
      (slot) => ![...this.slots.values()].includes(slot),
    );
    for (const arm of leading) if (!this.slots.has(arm)) this.slots.set(arm, free.shift() ?? 0);
    this.hasOthers = many;
  }

  #leading(arms, weight) {
    // An arm that leads already is only replaced by one that is clearly ahead.
    const score = (arm) => weight(arm) * (this.slots.has(arm) ? 1.25 : 1);
    return [...arms].sort((a, b) => score(b) - score(a)).slice(0, MARKS - 1);
  }

  /** The arms with a mark of their own. @param {string[]} arms */
  leading(arms) {
    return arms.filter((arm) => this.slots.has(arm));
  }

  /** @param {string} arm @returns {Mark} */
  mark(arm) {
    return markOf(this.slots.get(arm) ?? -1);
  }
}
