/** The limits of runs: on an axis that all runs of a target share, and over time. */

import type { Range } from './chart/group';
import type { Chart, Limit, Listed } from './document';

/** So many letters of a commit tell it from others. */
const COMMIT = 7;
/** An axis reaches so much further than what stands on it. */
const AIR = 1.1;
/** More names of commits than this would cover the figures. */
const NAMED = 8;

/** What is taken for the limit: the rate that is held, or the highest shown to hold; nothing if only one that fails is known. */
export function middle({ held, lower }: Limit): number | null {
  return lower === null ? null : (held ?? lower);
}

/** What the axis of a run's limit is called by. */
export function axisOf(run: Listed): string {
  return `${run.limit?.unit} ${run.target}`;
}

/** The axis of every target, from nothing on, so that a bar is as long as what it stands for. What is open at one end says little of where to
 * look, and counts only where nothing else is known. */
export function axes(runs: readonly Listed[]): Map<string, Range> {
  const found = new Map<string, Range>();
  for (const [key, limits] of grouped(runs, axisOf)) {
    const all = limits.flatMap(({ limit }) => limit ?? []);
    const closed = all.filter(({ lower, upper }) => lower !== null && upper !== null);
    const ends = (closed.length > 0 ? closed : all).flatMap(({ lower, upper }) => [lower, upper]);
    const most = Math.max(0, ...ends.filter((end) => end !== null));
    if (most > 0) found.set(key, [0, roundUp(most * AIR)]);
  }
  return found;
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

function grouped<K>(runs: readonly Listed[], key: (run: Listed) => K): Map<K, Listed[]> {
  const found = new Map<K, Listed[]>();
  for (const run of runs) {
    const group = found.get(key(run));
    if (group) group.push(run);
    else found.set(key(run), [run]);
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
