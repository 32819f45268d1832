/** The limits of runs: on an axis shared by all runs of a unit, and over time. */

import { formatTick, joined } from './format';
import type { Chart, Limit, Listed } from './document';

/** Letters of a commit hash that distinguish it. */
const COMMIT = 7;
/** An axis extends this factor beyond its values. */
const AIR = 1.1;
/** Limits that differ by more than this factor get a logarithmic axis: on a linear one the smaller would be invisible. */
const SPREAD = 10;
/** More commit names than this would cover the figures. */
const NAMED = 8;

/** The value shown as the limit: the rate that is held, or the highest shown to hold; null if only a failing rate is known. */
export function middle({ held, lower }: Limit): number | null {
  return lower === null ? null : (held ?? lower);
}

/** The axis that a list's limits are drawn on. */
export interface Axis {
  from: number;
  to: number;
  /** Logarithmic. */
  log: boolean;
}

/**
 * The axis of each unit, the same in all rows: further right is more. From zero, or by powers of ten. Half-open limits say little
 * about the range, and count only where nothing else is known.
 */
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

/** A value's position, as a share of the axis. */
export function placeOn({ from, to, log }: Axis, value: number): number {
  const share = log ? Math.log(Math.max(value, from) / from) / Math.log(to / from) : (value - from) / (to - from);
  return Math.min(1, Math.max(0, share));
}

/** The powers of ten on a logarithmic axis, its ends included. */
export function decades({ from, to, log }: Axis): number[] {
  const steps = log ? Math.round(Math.log10(to / from)) : 0;
  return Array.from({ length: steps === 0 ? 0 : steps + 1 }, (_, step) => from * 10 ** step);
}

/** The range of an axis, for the head of its column. */
export function reach(unit: string, { from, to, log }: Axis): string {
  return `${formatTick(from, 'count')} to ${formatTick(to, 'count')} ${unit}${log ? ', a line every ×10' : ''}`;
}

/** Rounded up to two digits: an axis's end need not be exact. */
function roundUp(value: number): number {
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Math.ceil(value / step - 1e-9) * step;
}

/** The runs that are alike and found a limit, oldest first. */
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

/** The limits of runs that are alike, oldest first: each with its interval, and lines where the commit changes. */
export function limitChart(runs: readonly Listed[]): Chart {
  const { target = '', limit } = runs[0] ?? {};
  const unit = limit?.unit ?? '';
  const points = runs.flatMap((run) => {
    const y = run.limit && middle(run.limit);
    if (!run.limit || y === null) return [];
    const { lower, upper } = run.limit;
    const label = joined(', ', run.name || run.id, commit(run));
    // A half-open interval has no end to draw.
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
