import { expect, test } from 'vitest';
import type { Timeline } from '../src/document';
import { type Held, withRows } from '../src/rows';

const timeline = (at: number[], columns: Record<string, (number | null)[]>): Timeline => ({
  at,
  columns: Object.entries(columns).map(([id, values]) => ({ id, values, adds: false })),
});
const held = (): Held => ({ generation: 1, timeline: timeline([1, 2, 3], { a: [10, 20, 30] }) });

test('rows after the last are added', () => {
  const now = withRows(held(), { generation: 1, from: 3, timeline: timeline([4, 5], { a: [40, null] }) });
  expect(now?.timeline).toEqual(timeline([1, 2, 3, 4, 5], { a: [10, 20, 30, 40, null] }));
});

test('rows that were held already are replaced', () => {
  const now = withRows(held(), { generation: 1, from: 2, timeline: timeline([3, 4], { a: [31, 40] }) });
  expect(now?.timeline).toEqual(timeline([1, 2, 3, 4], { a: [10, 20, 31, 40] }));
});

test('a column that comes late was not measured before, one that ends is not measured after', () => {
  const now = withRows(held(), { generation: 1, from: 3, timeline: timeline([4], { b: [7] }) });
  expect(now?.timeline).toEqual(timeline([1, 2, 3, 4], { a: [10, 20, 30, null], b: [null, null, null, 7] }));
});

test('another generation, or rows from the first, replace everything', () => {
  const all = timeline([2, 4], { a: [15, 35] });
  expect(withRows(held(), { generation: 2, from: 0, timeline: all })).toEqual({ generation: 2, timeline: all });
  expect(withRows(held(), { generation: 1, from: 0, timeline: all })?.timeline).toEqual(all);
  expect(withRows(held(), { generation: 2, from: 3, timeline: all })?.timeline).toEqual(all);
});

test('with rows missing in between nothing is shown that is not so', () => {
  expect(withRows(held(), { generation: 1, from: 5, timeline: timeline([6], { a: [60] }) })).toBeNull();
});

test('a timeline that came with the whole document is of the first generation that is heard of', () => {
  const whole: Held = { generation: null, timeline: held().timeline };
  const now = withRows(whole, { generation: 7, from: 3, timeline: timeline([4], { a: [40] }) });
  expect(now).toEqual({ generation: 7, timeline: timeline([1, 2, 3, 4], { a: [10, 20, 30, 40] }) });
});

test('whoever draws the timeline sees that it changed', () => {
  const before = held();
  const now = withRows(before, { generation: 1, from: 3, timeline: timeline([4], { a: [40] }) });
  expect(now?.timeline).not.toBe(before.timeline);
});
