/** The limits of runs: on an axis that all runs of a unit share, and over time. */

import { formatTick } from './format';
import type { Chart, Limit, Listed } from './document';

/** So many letters of a commit tell it from others. */
const COMMIT = 7;
/** An axis reaches so much further than what stands on it. */
const AIR = 1.1;
/** Limits that differ by more than this stand on a logarithmic axis: on another the smaller ones could not be seen. */
const SPREAD = 10;
/** More names of commits than this would cover the figures. */
const NAMED = 8;

/** What is taken for the limit: the rate that is held, or the highest shown to hold; nothing if only one that fails is known. */
export function middle({ held, lower }: Limit): number | null {
  return lower === null ? null : (held ?? lower);
}

/** What the limits of a list stand on. */
export interface Axis {
  from: number;
  to: number;
  /** Equal steps are equal factors. */
  log: boolean;
}

/** The axis of every unit, the same in all rows: what stands further to the right is more. From nothing on, or by powers of ten. What is open at
 * one end says little of where to look, and counts only where nothing else is known. */
export function axes(runs: readonly Listed[]): Map<string, Axis> {
  const all = runs.flatMap(({ limit }) => limit ?? []);
  const found = new Map<string, Axis>();
  for (const [unit, limits] of grouped(all, ({ unit }) => unit)) {
    const known = limits.map(middle).filter((at): at is number => at !== null && at > 0);
    const closed = limits.flatMap(({ lower, upper }) => (lower !== null && upper !== null ? [upper] : []));
    const most = Math.max(0, ...known, ...closed);
    if (most <= 0) continue;
    const least = Math.min(most, ...known);
    const decade = (round: (value: number) => number, value: number) => 10 ** round(Math.log10(value));
    const log = most > SPREAD * least;
    found.set(unit, log ? { from: decade(Math.floor, least), to: decade(Math.ceil, most), log } : { from: 0, to: roundUp(most * AIR), log });
  }
  return found;
}

/** Where a value stands, as a share of the axis. */
export function placeOn({ from, to, log }: Axis, value: number): number {
  const share = log ? Math.log(Math.max(value, from) / from) / Math.log(to / from) : (value - from) / (to - from);
  return Math.min(1, Math.max(0, share));
}

/** Powers of ten on a logarithmic axis, its ends among them. */
export function decades({ from, to, log }: Axis): number[] {
  const steps = log ? Math.round(Math.log10(to / from)) : 0;
  return Array.from({ length: steps === 0 ? 0 : steps + 1 }, (_, step) => from * 10 ** step);
}

/** What an axis reaches over, for the head of its column. */
export function reach(unit: string, { from, to, log }: Axis): string {
  return `${formatTick(from, 'count')} to ${formatTick(to, 'count')} ${unit}${log ? ', a line every ×10' : ''}`;
}

/** To two digits: an end of an axis that nobody asks about. */
function roundUp(value: number): number {
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Math.ceil(value / step - 1e-9) * step;
}

/** The runs that are alike and came to a limit, the oldest first. */
export function alikes(runs: readonly Listed[]): Map<number | null, Listed[]> {
  const ended = runs.filter((run) => run.state === 'ended' && run.alike !== null && run.limit && middle(run.limit) !== null);
  return grouped(ended.sort((a, b) => a.started_unix_ms - b.started_unix_ms), (run) => run.alike);
}

function grouped<T, K>(all: readonly T[], key: (one: T) => K): Map<K, T[]> {
  const found = new Map<K, T[]>();
  for (const one of all) {
    const group = found.get(key(one));
    if (group) group.push(one);
    else found.set(key(one), [one]);
  }
  return found;
}

/** The limit of runs that are alike, the oldest first: each with its interval, and lines where the commit is another one. */
export function limitChart(runs: readonly Listed[]): Chart {
  const { target = '', limit } = runs[0] ?? {};
  const unit = limit?.unit ?? '';
  const points = runs.flatMap((run) => {
    const y = run.limit && middle(run.limit);
    if (!run.limit || y === null) return [];
    const { lower, upper } = run.limit;
    const label = [run.name || run.id, commit(run)].filter((part) => part !== '').join(', ');
    // An interval that is open has no end to draw.
    const [low, high] = upper === null ? [null, null] : [lower, upper];
    return [{ x: run.started_unix_ms / 1000, y, low, high, label, tone: 'strong' as const }];
  });
  const changes = runs.filter((run, index) => {
    const before = runs[index - 1]?.commit ?? '';
    return before !== '' && run.commit !== '' && before !== run.commit;
  });
  return {
    id: 'limit',
    title: `the limit of ${target} over time`,
    note: changes.length > 0 ? 'Dashed lines: the first run at another commit.' : '',
    form: 'points',
    x: { name: 'started', unit: 'date', log: false },
    y: { name: `limit, ${unit}`, unit: unit.endsWith('/s') ? 'per_second' : 'count', log: false },
    series: [{ name: 'limit and its interval', role: { nth: 0 }, column: null, points }],
    bounds: changes.map((run) => ({
      name: changes.length > NAMED ? '' : commit(run),
      at: run.started_unix_ms / 1000,
      along_x: true,
      tone: 'faint',
    })),
    bands: [],
    rows: [],
    heat: null,
    marks: [],
    hollow: '',
  };
}

function commit(run: Listed): string {
  return run.commit === '' ? '' : `commit ${run.commit.slice(0, COMMIT)}`;
}
