/**
 * The shapes of the API that the page reads; `/openapi.json` has all of them.
 *
 * @typedef {{name: string, policy: string, mode: string, arms: number, sequence: number}} Summary
 *
 * @typedef {Object} Described A problem as it is now.
 * @property {string} name
 * @property {{arms: Object|string[], context?: Object<string, any>, state?: Object,
 *   reward?: string, failure?: string|number}} problem
 * @property {string} policy
 * @property {number} expires
 *
 * @typedef {{arm: string, pulls: number, in_flight: number, failures: number, clipped: number,
 *   age: ?number, seconds: ?number, state: ?Object<string, number>, approximate: string[]}} ArmStats
 *
 * @typedef {Object} Stats
 * @property {number} sequence
 * @property {string} mode
 * @property {?string} fallback
 * @property {{paused: string[], pinned: ?string,
 *   shares: Object<string, {least: number, most: number}>}} controls
 * @property {string[]} drained
 * @property {{policy: string, trials: number, arms: ArmStats[]}} policy
 * @property {Object<string, Object<string, number>>} decisions
 * @property {Object<string, Object<string, number>>} outcomes
 * @property {number} in_flight
 * @property {number} gave_up
 * @property {number} expired
 * @property {number} late
 * @property {number} refused
 * @property {number} lag
 * @property {number} unrecorded
 * @property {?number} last_observation
 * @property {boolean} healthy
 * @property {?string} reward
 *
 * @typedef {{decisions: number[], observations: number[], failures: number[], expired: number[],
 *   reward: (?number)[]}} ArmTimeline
 * @typedef {{start: number, width: number, arms: Object<string, ArmTimeline>}} Timeline
 *
 * @typedef {{arm: string, estimate: (?number)[], error: (?number)[], states: number}} Curve
 * @typedef {{field: string, points: (number|string)[], best: (?string)[],
 *   context: Object<string, number|string>, curves: Curve[]}} Curves
 *
 * @typedef {{event: string, seq: number, time: number, id: string, arm: string,
 *   context?: Object<string, number|string>, mode?: string, chance?: number, estimate?: number,
 *   reason?: string, expires_at?: number, choice?: string, eligible?: string[],
 *   key?: string}} Decision
 * @typedef {{event: string, seq: number, time: number, id: string, arm: string,
 *   state?: Object<string, number|string>, reward?: number, late?: boolean}} Outcome
 * @typedef {{event: string, seq: number, time: number, by?: string}} Change
 *
 * @typedef {{knows_drift: boolean, half_life: ?number, dependent: {arm: string, state: string,
 *   context: string, correlation: number, pairs: number}[]}} Warnings
 *
 * @typedef {{requests: number, reward: string, earned: ?number, was_earned: ?number,
 *   arms: Object<string, {share: ?number, was_share: ?number, earned: ?number,
 *   outcomes: number}>, field: string, points: (number|string)[], best: (?string)[],
 *   was_best: (?string)[], notes: string[]}} WhatIf
 */
export {};
