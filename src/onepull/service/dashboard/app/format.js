/** Numbers, times and events in words. */

const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Words as a sentence. @param {string} words */
export const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

/** A count. @param {?number} value */
export const count = (value) => (value == null ? UNKNOWN : whole.format(value));

/** A count that may be large, for narrow places. @param {?number} value */
export const brief = (value) =>
  value == null ? UNKNOWN : value < 100_000 ? whole.format(value) : short.format(value);

/** A share of 1. @param {?number} value */
export const percent = (value) => {
  if (value == null || !Number.isFinite(value)) return UNKNOWN;
  const digits = value > 0 && value < 0.0995 ? 1 : 0;
  return `${(value * 100).toFixed(digits)}\u202f%`;
};

/** A number with about four digits, alone in its place. @param {?number} value */
export function number(value) {
  if (value == null || !Number.isFinite(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return minus(value.toExponential(2));
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  return minus(
    value.toLocaleString("en", {
      maximumFractionDigits: digits,
      minimumFractionDigits: Number.isInteger(value) ? 0 : Math.min(digits, 3),
    }),
  );
}

/**
 * Numbers of one column, all with as many decimals.
 * @param {(?number)[]} values @returns {(value: ?number) => string}
 */
export function aligned(values) {
  const sizes = values.filter((value) => value != null && Number.isFinite(value)).map(Math.abs);
  const largest = Math.max(...sizes, 0);
  if (largest >= 1e6 || (largest > 0 && largest < 1e-3)) return number;
  const digits =
    largest >= 1000 ? 0 : largest >= 100 ? 1 : largest >= 10 ? 2 : largest >= 0.1 ? 3 : 5;
  const words = new Intl.NumberFormat("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return (value) =>
    value == null || !Number.isFinite(value) ? UNKNOWN : minus(words.format(value));
}

/** A change with its sign. @param {?number} value @param {(value: number) => string} words */
export const signed = (value, words = number) =>
  value == null || !Number.isFinite(value)
    ? UNKNOWN
    : `${value > 0 ? "+" : value < 0 ? "−" : ""}${words(Math.abs(value))}`;

const minus = (text) => text.replace("-", "−");

/** A value of a context or a state. @param {number|string|boolean} value */
export const field = (value) => (typeof value === "number" ? trimmed(value) : String(value));

const trimmed = (value) =>
  minus(Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 }));

/** Fields by name. @param {?Object<string, any>} fields */
export const fields = (fields) =>
  Object.entries(fields ?? {})
    .map(([name, value]) => `${name} ${field(value)}`)
    .join(", ");

/** A duration. @param {?number} seconds */
export function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return UNKNOWN;
  const s = Math.max(seconds, 0);
  if (s < 0.95) return "under 1 s";
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129_600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86_400)} days`;
}

/** The time of day, with the date if it is not today's. @param {number} time */
export function moment(time) {
  const date = new Date(time * 1000);
  const clock = date.toLocaleTimeString("en-GB");
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock : `${date.toLocaleDateString("en-CA")} ${clock}`;
}

const CHANGES = {
  defined: (e) => (e.reward ? `learned again with reward ${e.reward}` : "problem defined"),
  modeset: (e) => `mode set to ${e.mode}`,
  fallbackset: (e) => (e.arm == null ? "fallback removed" : `fallback set to ${e.arm}`),
  pinned: (e) => (e.arm == null ? "pin removed" : `${e.arm} pinned`),
  paused: (e) => `${e.arm} paused`,
  drained: (e) => `${e.arm} draining`,
  resumed: (e) => `${e.arm} resumed`,
  shareset: (e) => `${e.arm}: share ${percent(e.least ?? 0)} to ${percent(e.most ?? 1)}`,
  attributesset: (e) => `${e.arm}: ${fields(e.attributes)}`,
  armadded: (e) => `arm ${e.arm} added`,
  armremoved: (e) => `arm ${e.arm} removed`,
  rewardset: (e) => `reward set to ${e.reward}`,
};

/** A change in words. @param {import("./types.js").Change} event */
export const change = (event) => (CHANGES[event.event] ?? (() => event.event))(event);
