/**
 * What the page knows of one problem, kept up to date.
 *
 * Messages of the server say that something is new; numbers are then asked for, at most once a
 * second. Everything comes from the log, so a page that is opened again, or a server that was
 * restarted, shows the same.
 */
import { ApiError, Unreachable, ask, problemPath, serverNow, setClock } from "./api.js";
import { follow } from "./stream.js";

const NUMBERS = 500; // milliseconds between two looks at the numbers
const CURVES = 2000;
const WARNINGS = 8000;
const QUIET = 5000; // between looks without news, so that time goes on in pictures
const DECISIONS = 400; // that are kept, to look for unusual ones
const BUCKETS = 90;

/** @typedef {"connecting"|"live"|"lost"} Connection */

export class LiveProblem {
  /** @param {string} name @param {() => void} changed */
  constructor(name, changed) {
    this.name = name;
    this.changed = changed;
    this.seconds = 300;
    /** @type {{field: string, fixed: Object<string, string>}} */
    this.axis = { field: "", fixed: {} };
    /** @type {Connection} */
    this.connection = "connecting";
    /** What the service says, if it answers at all. */
    this.refusal = "";
    this.heardAt = 0;
    /** @type {?Error} */
    this.error = null;
    /** @type {?import("./types.js").Described} */
    this.described = null;
    /** @type {?import("./types.js").Stats} */
    this.stats = null;
    /** @type {?import("./types.js").Timeline} */
    this.timeline = null;
    /** @type {?import("./types.js").Curves} */
    this.curves = null;
    /** @type {?string} */
    this.curvesError = null;
    /** @type {?import("./types.js").Warnings} */
    this.warnings = null;
    /** @type {import("./types.js").Decision[]} The newest first. */
    this.decisions = [];
    /** @type {Map<string, import("./types.js").Outcome>} */
    this.outcomes = new Map();
    /** @type {import("./types.js").Change[]} The newest first. */
    this.changes = [];
    this.hasNews = true;
    this.looked = { numbers: 0, curves: 0, warnings: 0 };
    this.isBusy = false;
    this.isStopped = false;
  }

  start() {
    const path = `/events?problem=${encodeURIComponent(this.name)}`;
    this.unfollow = follow(path, {
      open: () => this.#open(),
      message: (data) => this.#hear(data),
      lost: (error) => this.#lose(error),
    });
    this.timer = setInterval(() => this.#beat(), 100);
  }

  stop() {
    this.isStopped = true;
    this.unfollow?.();
    clearInterval(this.timer);
  }

  /** Show another time span. @param {number} seconds */
  span(seconds) {
    this.seconds = seconds;
    this.looked.numbers = 0;
    this.hasNews = true;
    this.changed();
  }

  /** Show payoff along another field. @param {string} field @param {Object<string, string>} fixed */
  along(field, fixed) {
    this.axis = { field, fixed };
    this.looked.curves = 0;
    this.hasNews = true;
    this.changed();
  }

  /** Look again at once, for example after a change. */
  refresh() {
    this.hasNews = true;
    this.looked = { numbers: 0, curves: 0, warnings: 0 };
    return this.#beat();
  }

  async #open() {
    // Whatever happened while nobody listened is in the log.
    try {
      await this.#load();
      this.connection = "live";
      this.error = null;
      this.heardAt = Date.now();
      this.changed();
      this.refresh();
    } catch (error) {
      this.#lose(error);
    }
  }

  async #load() {
    const path = (rest) => problemPath(this.name, rest);
    this.described = await ask(path());
    this.stats = await ask(path("stats"));
    const last = this.stats.sequence;
    let events = await ask(path(`log?after=${Math.max(last - 1000, 0)}&limit=1000`));
    if (last > 1000 && !events.some((event) => event.event === "decided")) {
      events = await ask(path(`log?after=${Math.max(last - 9000, 0)}&limit=10000`));
    }
    this.changes = (await ask(path("changes"))).changes.reverse();
    this.decisions = [];
    this.outcomes.clear();
    this.#add(events);
  }

  #add(events) {
    for (const event of events) {
      if (event.event === "decided") {
        if (!(event.seq <= (this.decisions[0]?.seq ?? 0))) this.decisions.unshift(event);
      } else if (["observed", "failed", "expired", "gaveup"].includes(event.event)) {
        this.outcomes.set(event.id, event);
      }
    }
    this.decisions.length = Math.min(this.decisions.length, DECISIONS);
    if (this.outcomes.size > 8 * DECISIONS) {
      const drop = this.outcomes.size - 4 * DECISIONS;
      for (const id of [...this.outcomes.keys()].slice(0, drop)) this.outcomes.delete(id);
    }
  }

  #hear(message) {
    if (message.problem !== this.name) return;
    setClock(message.time);
    this.heardAt = Date.now();
    this.#add([...message.decisions, ...message.observations]);
    if (message.changes.length) {
      const known = this.changes[0]?.seq ?? 0;
      const fresh = message.changes.filter((event) => event.seq > known);
      this.changes = [...fresh.reverse(), ...this.changes].slice(0, 100);
      this.looked = { numbers: 0, curves: 0, warnings: 0 };
      ask(problemPath(this.name)).then(
        (told) => {
          this.described = told;
          this.changed();
        },
        () => {},
      );
    }
    this.hasNews = true;
    this.changed();
  }

  #lose(error) {
    if (this.isStopped) return;
    this.refusal = error instanceof ApiError ? error.message : "";
    this.connection = "lost";
    this.changed();
  }

  async #beat() {
    if (this.isBusy || this.connection !== "live" || document.hidden) return;
    const now = Date.now();
    const isDue = (what, wait) => now - this.looked[what] >= (this.hasNews ? wait : QUIET);
    const due = {
      numbers: isDue("numbers", NUMBERS),
      curves: isDue("curves", CURVES),
      warnings: now - this.looked.warnings >= WARNINGS,
    };
    if (!due.numbers && !due.curves && !due.warnings) return;
    this.isBusy = true;
    if (due.numbers) this.hasNews = false;
    for (const what of Object.keys(due)) if (due[what]) this.looked[what] = now;
    try {
      await Promise.all([
        due.numbers && this.#lookAtNumbers(),
        due.curves && this.#lookAtCurves(),
        due.warnings && this.#lookAtWarnings(),
      ]);
    } catch (error) {
      if (error instanceof Unreachable) this.#lose(error);
      else this.error = error;
    } finally {
      this.isBusy = false;
    }
    if (!this.isStopped) this.changed();
  }

  async #lookAtNumbers() {
    const seconds = this.seconds;
    const [stats, timeline] = await Promise.all([
      ask(problemPath(this.name, "stats")),
      ask(problemPath(this.name, `timeline?seconds=${seconds}&buckets=${BUCKETS}`)),
    ]);
    this.stats = stats;
    if (seconds === this.seconds) this.timeline = timeline;
    this.error = null;
  }

  async #lookAtCurves() {
    const axis = this.axis;
    const query = new URLSearchParams({ ...axis.fixed, points: "60" });
    if (axis.field) query.set("field", axis.field);
    try {
      const curves = await ask(problemPath(this.name, `curves?${query}`));
      if (axis !== this.axis) return;
      this.curves = curves;
      this.curvesError = null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.curvesError = error.message;
    }
  }

  async #lookAtWarnings() {
    this.warnings = await ask(problemPath(this.name, "warnings"));
  }

  /** The names of all arms. @returns {string[]} */
  get arms() {
    return this.stats?.policy.arms.map((row) => row.arm) ?? [];
  }

  /** The age of the newest outcome in seconds. @returns {?number} */
  get age() {
    const last = this.stats?.last_observation;
    return last == null ? null : Math.max(serverNow() - last, 0);
  }
}
