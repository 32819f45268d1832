import { expect, test } from 'vitest';
import { thinRows } from '../src/thin';

test('few rows are all shown', () => {
  expect(thinRows([[1, 2, 3]], 3, 60)).toEqual([0, 1, 2]);
  expect(thinRows([], 0, 60)).toEqual([]);
});

test('of many the extremes of every column stay, the first and the last', () => {
  const flat = new Array<number | null>(1800).fill(5);
  const spike = [...flat];
  spike[777] = 900;
  spike[1234] = -3;
  spike[3] = null;
  const rows = thinRows([flat, spike], 1800, 60);
  expect(rows).toEqual(expect.arrayContaining([0, 777, 1234, 1799]));
  expect(rows.length).toBeLessThanOrEqual(60);
  expect([...rows].sort((a, b) => a - b)).toEqual(rows);
  expect(new Set(rows).size).toBe(rows.length);
});

test('between them the rows are evenly apart', () => {
  const rows = thinRows([new Array(1000).fill(1)], 1000, 11);
  const gaps = rows.slice(1).map((row, index) => row - rows[index]!);
  expect(Math.max(...gaps)).toBeLessThan(130);
});
