/** The numbers that an operator looks at first. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { spanWords } from "../charts/traffic.js";
import { brief, duration, number, percent } from "../format.js";

const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);

/** Decisions per second over the last complete buckets. @param {import("../types.js").Timeline} timeline */
function pace(timeline) {
  const rows = Object.values(timeline.arms);
  const wanted = Math.max(Math.ceil(10 / timeline.width), 1);
  const counts = rows.map(({ decisions }) => sum(decisions.slice(-1 - wanted, -1)));
  return rows.length ? sum(counts) / (wanted * timeline.width) : 0;
}

/** The mean reward of all outcomes in the time span. @param {import("../types.js").Timeline} timeline */
function earned(timeline) {
  let total = 0;
  let many = 0;
  for (const { reward, observations } of Object.values(timeline.arms)) {
    reward.forEach((mean, i) => {
      if (mean == null) return;
      total += mean * observations[i];
      many += observations[i];
    });
  }
  return many ? total / many : null;
}

const Tile = ({ id, name, value, more, sign = "" }) =>
  html`<div class=${`tile ${sign}`} id=${`tile-${id}`}>
    <dt>${name}</dt>
    <dd>
      <span class="tile-value"
        >${sign === "warn" ? html`<span aria-hidden="true">▲ </span>` : ""}${value}</span
      >
      <span class="tile-more">${more}</span>
    </dd>
  </div>`;

/** @param {{live: import("../live_problem.js").LiveProblem}} props */
export function Tiles({ live }) {
  const { stats, timeline, age } = live;
  if (!stats) return null;
  const decided = sum(Object.values(stats.decisions).flatMap((modes) => Object.values(modes)));
  const learned = stats.policy.trials;
  const failed = sum(Object.values(stats.outcomes).map((kinds) => kinds.failed));
  const clipped = sum(stats.policy.arms.map((row) => row.clipped));
  const lost = stats.expired + stats.gave_up;
  const part = (many) => (decided ? `${percent(many / decided)} of all` : "");
  const isStale =
    age != null && age > Math.max(60, 2 * (live.described?.expires ?? 60)) && stats.in_flight > 0;
  return html`<dl class="tiles" aria-label="Numbers">
    <${Tile}
      id="decisions"
      name="Decisions"
      value=${brief(decided)}
      more=${timeline ? `${pace(timeline).toFixed(1)} per second` : ""}
    />
    <${Tile} id="learned" name="Learned" value=${brief(learned)} more="observations" />
    <${Tile}
      id="payoff"
      name="Mean payoff"
      value=${timeline ? number(earned(timeline)) : "–"}
      more=${`in the last ${spanWords(live.seconds)}`}
    />
    <${Tile}
      id="age"
      name="Age of the data"
      value=${age == null ? "none yet" : duration(age)}
      more="since last outcome"
      sign=${isStale ? "warn" : ""}
    />
    <${Tile} id="flight" name="In flight" value=${brief(stats.in_flight)} more="awaiting outcome" />
    <${Tile} id="failed" name="Failed" value=${brief(failed)} more=${part(failed)} />
    <${Tile}
      id="expired"
      name="Expired"
      value=${brief(lost)}
      more=${stats.late ? `${brief(stats.late)} answered late` : part(lost)}
    />
    <${Tile} id="clipped" name="Clipped" value=${brief(clipped)} more="out of bounds" />
  </dl>`;
}
