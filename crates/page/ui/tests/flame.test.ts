import { expect, test } from 'vitest';
import type { Flame } from '../src/document';
import { boxes, calls, more, neighbour, search } from '../src/flame';

const flame: Flame = {
  id: 'flame',
  title: '',
  note: '',
  name: 'above',
  beside_name: 'below',
  samples: 100,
  beside: 50,
  modules: ['app'],
  names: [['worker', -1], ['main', 0], ['parse', 0], ['render', 0]],
  calls: [[0, 0, 100, 50], [1, 1, 100, 50], [2, 3, 60, 40], [3, 2, 20, 5], [2, 2, 30, 10], [2, 9, 1, 1], [9, 1, 1, 1]],
};
const all = calls(flame);
const told = (zoomed: number | null, least = 0) =>
  boxes(all, flame, 'first', zoomed, least).map(({ call, from, share }) => [call.name, from, share]);

test('a call lies below its caller, beside those that came before it', () => {
  expect(all.map(({ name, caller }) => [name, caller])).toEqual([['worker', null], ['main', 0], ['render', 1], ['parse', 2], ['parse', 1]]);
  expect(told(null)).toEqual([['worker', 0, 1], ['main', 0, 1], ['render', 0, 0.6], ['parse', 0, 0.2], ['parse', 0.6, 0.3]]);
  expect(told(null, 0.25).length).toBe(4);
});

test('what is zoomed to has the whole width, and so have its callers', () => {
  expect(told(2)).toEqual([['main', 0, 1], ['worker', 0, 1], ['render', 0, 1], ['parse', 0, 20 / 60]]);
});

test('a search counts no sample twice', () => {
  expect(search(all, 'PARSE', 'first')).toEqual({ found: new Set([3, 4]), samples: 50 });
  expect(search(all, 'r', 'first').samples).toBe(100);
  expect(search(all, ' ', 'first').found.size).toBe(0);
});

test('shares are compared, not samples', () => {
  expect(more(all[2]!, flame)).toBeCloseTo(-0.2);
  expect(more(all[4]!, flame)).toBeCloseTo(0.1);
});

test('arrows lead along the calls', () => {
  const go = (at: number, key: string) => neighbour(all, at, key, 'first');
  expect([go(1, 'ArrowDown'), go(2, 'ArrowRight'), go(4, 'ArrowLeft'), go(2, 'ArrowUp'), go(4, 'ArrowRight'), go(0, 'ArrowUp')]).toEqual([2, 4, 2, 1, null, null]);
});
