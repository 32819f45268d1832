/** Which runs of a history are requested, which of them are shown, and in which order. */

import type { Listed } from './document';
import { middle } from './limits';

export type Key = 'started' | 'target' | 'verdict' | 'limit' | 'lasted' | 'machine';

export interface Wanted {
  /** Words that a run must all contain; `target:`, `tag:`, … before one says where. */
  text: string;
  by: Key;
  descending: boolean;
}

/** Maximum number of runs requested from the server. */
const MOST_RUNS = 10_000;

/** Time spans up to now, in seconds. */
export const SPANS: [string, number | null][] = [
  ['any time', null],
  ['last hour', 3600],
  ['last 24 hours', 86_400],
  ['last 7 days', 7 * 86_400],
  ['last 30 days', 30 * 86_400],
];

/**
 * The server's part of a search: a verdict, and a time span by its index in `SPANS`; the index after the last means the calendar
 * days `from` and `to`.
 */
export interface Sought {
  verdict: string;
  span: number;
  from: string;
  to: string;
}

/** The request's path: the server filters by verdict and time, words are matched here. */
export function asked({ verdict, span, from, to }: Sought): string {
  const words = new URLSearchParams({ limit: String(MOST_RUNS) });
  if (verdict !== '') words.set('verdict', verdict);
  const seconds = SPANS[span]?.[1] ?? null;
  if (seconds !== null) words.set('since', `${seconds}s`);
  if (span === SPANS.length) {
    if (from !== '') words.set('since', midnight(from, 0));
    if (to !== '') words.set('until', midnight(to, 1));
  }
  return `/api/history?${words}`;
}

/** The local beginning of a day, or of one this many days later. */
function midnight(date: string, later: number): string {
  const begin = new Date(`${date}T00:00`);
  begin.setDate(begin.getDate() + later);
  return begin.toISOString();
}

const STATES = { running: 'running', ended: 'ended', cut_short: 'cut short' };

const FIELDS: Record<string, (run: Listed) => string[]> = {
  target: (run) => [run.target],
  command: (run) => [run.command],
  verdict: (run) => [run.verdict],
  name: (run) => [run.name],
  tag: (run) => run.tags,
  machine: (run) => [run.machine],
  state: (run) => [STATES[run.state]],
  id: (run) => [run.id],
};
/** Plus what is searched only by its prefix: most words one would search for are in every plan. */
const NAMED = new Map(Object.entries({ ...FIELDS, plan: (run: Listed) => [run.plan.replaceAll(' ', '')] }));

export function shownRuns(runs: readonly Listed[], wanted: Wanted): Listed[] {
  const words = wanted.text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const found = runs.filter((run) => words.every((word) => has(run, word)));
  const sign = wanted.descending ? -1 : 1;
  return found.sort((a, b) => sign * ORDERS[wanted.by](a, b) || b.started_unix_ms - a.started_unix_ms);
}

function has(run: Listed, word: string): boolean {
  const colon = word.indexOf(':');
  const field = NAMED.get(word.slice(0, Math.max(0, colon)));
  const fields = field ? field(run) : Object.values(FIELDS).flatMap((one) => one(run));
  const sought = field ? word.slice(colon + 1) : word;
  return fields.some((text) => text.toLowerCase().includes(sought));
}

const ORDERS: Record<Key, (a: Listed, b: Listed) => number> = {
  started: (a, b) => a.started_unix_ms - b.started_unix_ms,
  lasted: (a, b) => length(a) - length(b),
  target: (a, b) => a.target.localeCompare(b.target) || a.command.localeCompare(b.command),
  verdict: (a, b) => a.verdict.localeCompare(b.verdict),
  limit: (a, b) => limit(a) - limit(b),
  machine: (a, b) => a.machine.localeCompare(b.machine),
};

function limit(run: Listed): number {
  return (run.limit && middle(run.limit)) ?? -1;
}

function length(run: Listed): number {
  // A live run counts as the longest; infinity minus itself would be no order.
  return run.ended_unix_ms === null ? Number.MAX_SAFE_INTEGER : run.ended_unix_ms - run.started_unix_ms;
}
