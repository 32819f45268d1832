import { expect, test } from 'vitest';
import type { Limit, Listed } from '../src/document';
import { alikes, axes, decades, limitChart, middle, placeOn, reach } from '../src/limits';

const limit = (lower: number | null, held: number | null, upper: number | null): Limit => ({ lower, held, upper, unit: 'requests/s' });

const run = (id: string, more: Partial<Listed>): Listed => ({
  id,
  name: '',
  tags: [],
  commit: '',
  command: 'find',
  target: 'demo',
  machine: 'homelab',
  plan: '',
  verdict: '',
  verdict_tone: 'good',
  state: 'ended',
  started_unix_ms: 0,
  ended_unix_ms: 1000,
  limit: null,
  alike: 1,
  before: null,
  ...more,
});

test.each([
  [limit(1980, 1991, 2010), 1991],
  [limit(1980, null, 2010), 1980],
  [limit(1980, null, null), 1980],
  [limit(null, null, 20), null],
])('what is taken for a limit', (limit, known) => {
  expect(middle(limit)).toBe(known);
});

/** Each target had its own, so that a limit of 500/s stood where one of 90,000/s did. */
test('all runs of a unit have one axis', () => {
  const runs = [
    run('a', { limit: limit(1980, 1991, 2000) }),
    run('b', { limit: limit(1000, null, 1020) }),
    run('at least', { limit: limit(300, null, null), state: 'cut_short' }),
    run('none', { target: 'null' }),
  ];
  expect([...axes(runs)]).toEqual([['requests/s', { from: 0, to: 2200, log: false }]]);
  const far = [...runs, run('far', { limit: limit(86_000, 92_520, 93_000), target: 'http://odd/' })];
  const axis = axes(far).get('requests/s')!;
  expect(axis).toEqual({ from: 100, to: 100_000, log: true });
  expect([decades(axis), reach('requests/s', axis)]).toEqual([[100, 1000, 10_000, 100_000], '100 to 100k requests/s, a line every ×10']);
  expect([10, 100, 1000, 100_000].map((at) => placeOn(axis, at))).toEqual([0, 0, expect.closeTo(1 / 3), 1]);
});

test('the limits of runs that are alike, over time', () => {
  const first = '0123456789abcdef';
  const runs = [
    run('d', { limit: limit(9, 10, 11), started_unix_ms: 4000, commit: 'fedcba9876543210', name: 'nightly' }),
    run('c', { limit: limit(9, 10, null), started_unix_ms: 3000, commit: first }),
    run('a', { limit: limit(7, 8, 9), started_unix_ms: 1000, commit: first }),
    run('running', { limit: limit(7, 8, 9), state: 'running' }),
    run('fails', { limit: limit(null, null, 9) }),
    run('other', { limit: limit(7, 8, 9), alike: 2 }),
    run('of an experiment', { limit: limit(7, 8, 9), alike: null }),
  ];
  const like = alikes(runs);
  expect([...like].map(([key, runs]) => [key, runs.map((run) => run.id)])).toEqual([
    [2, ['other']],
    [1, ['a', 'c', 'd']],
  ]);
  const chart = limitChart(like.get(1)!);
  expect(chart.series[0]!.points.map(({ x, y, low, high, label }) => [x, y, low, high, label])).toEqual([
    [1, 8, 7, 9, 'a, commit 0123456'],
    [3, 10, null, null, 'c, commit 0123456'],
    [4, 10, 9, 11, 'nightly, commit fedcba9'],
  ]);
  expect(chart.bounds.map(({ name, at }) => [name, at])).toEqual([['commit fedcba9', 4]]);
  expect([chart.y.name, chart.y.unit]).toEqual(['limit, requests/s', 'per_second']);
});
