/** Requests to the service, with the key of this tab. */

const KEY = "onepull-key";
const SECONDS = 20;

/** An answer that is not a success, in the words of the service. */
export class ApiError extends Error {
  /** @param {number} status @param {string} detail */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The service cannot be reached. */
export class Unreachable extends Error {}

/** @returns {string} */
export const key = () => sessionStorage.getItem(KEY) ?? "";

/** Keep a key until the tab is closed. @param {string} text */
export const setKey = (text) => sessionStorage.setItem(KEY, text.trim());

export const forgetKey = () => sessionStorage.removeItem(KEY);

/** @returns {Object<string, string>} */
export const authorization = () => (key() ? { authorization: `Bearer ${key()}` } : {});

/** How many seconds the clock of the server is ahead of this one, from its Date headers. */
let ahead = 0;
let measured = false;

/** @returns {number} Seconds since the epoch by the clock of the server. */
export const serverNow = () => Date.now() / 1000 + ahead;

/** Set the clock by a moment of the server. @param {number} time */
export function setClock(time) {
  ahead = time - Date.now() / 1000;
  measured = true;
}

/** @param {Response} answer */
function readClock(answer) {
  const date = Date.parse(answer.headers.get("date") ?? "");
  // The header has whole seconds, so half a second is the best guess.
  if (!measured && Number.isFinite(date)) ahead = (date + 500 - Date.now()) / 1000;
}

/**
 * Ask for JSON.
 * @param {string} path
 * @param {{method?: string, body?: Object, signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function ask(path, { method = "GET", body, signal } = {}) {
  const answer = await send(path, method, body, signal);
  readClock(answer);
  if (!answer.ok) throw new ApiError(answer.status, await detailOf(answer));
  const text = await answer.text();
  const isLines = (answer.headers.get("content-type") ?? "").includes("ndjson");
  return isLines
    ? text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : JSON.parse(text);
}

async function send(path, method, body, signal) {
  const limit = AbortSignal.timeout(SECONDS * 1000);
  const headers = { ...authorization(), ...(body ? { "content-type": "application/json" } : {}) };
  try {
    return await fetch(path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable("The service does not answer.");
  }
}

/** What an error says. @param {Response} answer */
export async function detailOf(answer) {
  try {
    const told = await answer.json();
    return told.detail || told.title || `status ${answer.status}`;
  } catch {
    return `status ${answer.status}`;
  }
}

/** The path of a problem. @param {string} name @param {string} [rest] */
export const problemPath = (name, rest = "") =>
  `/v1/problems/${encodeURIComponent(name)}${rest && `/${rest}`}`;
