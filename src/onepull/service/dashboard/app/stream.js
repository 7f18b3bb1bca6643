/**
 * Server-sent events over fetch: an EventSource cannot send a key.
 *
 * It comes back by itself: after a second at first, later every few seconds.
 */
import { ApiError, authorization, detailOf } from "./api.js";

const FIRST = 500;
const LONGEST = 4000;
// The server sends a comment every 15 seconds; without one the connection is dead.
const SILENCE = 40_000;

/**
 * Follow a stream until it is stopped.
 * @param {string} path
 * @param {{message: (data: any) => void, open: () => void, lost: (error: Error) => void}} told
 * @returns {() => void} Stops it.
 */
export function follow(path, told) {
  const stop = new AbortController();
  run(path, told, stop.signal);
  return () => stop.abort();
}

async function run(path, told, stopped) {
  let wait = FIRST;
  while (!stopped.aborted) {
    try {
      await read(path, stopped, told.message, () => {
        wait = FIRST;
        told.open();
      });
      if (!stopped.aborted) told.lost(new Error("The stream ended."));
    } catch (error) {
      if (stopped.aborted) return;
      told.lost(error);
    }
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 1.6, LONGEST);
  }
}

async function read(path, stopped, message, opened) {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENCE);
  try {
    const answer = await fetch(path, {
      headers: { accept: "text/event-stream", ...authorization() },
      signal: AbortSignal.any([stopped, silent.signal]),
      cache: "no-store",
    });
    if (!answer.ok) throw new ApiError(answer.status, await detailOf(answer));
    opened();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE);
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const data = dataOf(part);
        if (data) message(JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The data of one message. @param {string} part */
export const dataOf = (part) =>
  part
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
