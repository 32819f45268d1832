import { describe, expect, test } from 'vitest';
import { driftRange, niceRange, ticks } from '../src/ticks';

describe('percentiles', () => {
  test('are marked at 0 %, 50 % and each further nine', () => {
    expect(ticks('percentile', true, 1, 12_000, 10)).toEqual([1, 2, 10, 100, 1000, 10_000]);
  });
  test('keep the median where there is little room', () => {
    const found = ticks('percentile', true, 1, 1e6, 4);
    expect(found).toContain(2);
    expect(found.length).toBeLessThanOrEqual(5);
  });
  test('of a small part are marked by what divides it', () => {
    expect(ticks('percentile', true, 20, 80, 6)).toEqual([20, 50]);
  });
});

describe('other axes', () => {
  test('equal factors', () => {
    expect(ticks('seconds', true, 1e-4, 1, 20)).toEqual([1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]);
    expect(ticks('seconds', true, 1e-4, 1, 6)).toEqual([1e-4, 1e-3, 0.01, 0.1, 1]);
    expect(ticks('seconds', true, 0.02, 0.47, 4)).toEqual([0.02, 0.05, 0.1, 0.2]);
    expect(ticks('seconds', true, 0.02, 0.47, 2)).toEqual([0.02, 0.1]);
  });
  test('equal steps without the last digits of computing', () => {
    expect(ticks('count', false, 0, 0.6, 6)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    expect(ticks('per_second', false, 0, 2100, 5)).toEqual([0, 500, 1000, 1500, 2000]);
  });
  test('minutes rather than hundreds of seconds', () => {
    expect(ticks('time', false, 0, 180, 7)).toEqual([0, 30, 60, 90, 120, 150, 180]);
    expect(ticks('time', false, 0, 1800, 6)).toEqual([0, 300, 600, 900, 1200, 1500, 1800]);
  });
  test('powers of two for bytes', () => {
    expect(ticks('bytes', false, 0, 3 * 2 ** 20, 4)).toEqual([0, 2 ** 20, 2 * 2 ** 20, 3 * 2 ** 20]);
    expect(ticks('bytes', true, 20e6, 300e6, 8)).toEqual([25, 26, 27, 28].map((power) => 2 ** power));
    expect(ticks('bytes', true, 2 ** 14, 2 ** 29, 6)).toEqual([14, 17, 20, 23, 26, 29].map((power) => 2 ** power));
  });
  test('a range without any width has one mark, and none is endless', () => {
    expect(ticks('count', false, 5, 5, 5)).toEqual([5]);
    expect(ticks('count', false, Number.NaN, 5, 5)).toEqual([]);
  });
});

describe('dates', () => {
  const at = (day: number, hour = 0, minute = 0) => new Date(2026, 10, day, hour, minute).getTime() / 1000;
  test('are marked at midnight of whoever looks', () => {
    expect(ticks('date', false, at(20, 9), at(24, 9), 5)).toEqual([21, 22, 23, 24].map((day) => at(day)));
    const weeks = ticks('date', false, at(1), at(64), 10);
    expect(weeks).toEqual([1, 8, 15, 22, 29, 36, 43, 50, 57, 64].map((day) => at(day)));
  });
  test('within a day at full hours, or parts of one', () => {
    expect(ticks('date', false, at(20, 9, 10), at(20, 17), 4)).toEqual([at(20, 12), at(20, 15)]);
    expect(ticks('date', false, at(20, 9, 10), at(20, 9, 31), 5)).toEqual([10, 15, 20, 25, 30].map((minute) => at(20, 9, minute)));
  });
});

test('an axis of limits is never so narrow that noise fills it', () => {
  expect(driftRange(1960, 2000)).toEqual([1475, 2025]);
  expect(driftRange(1000, 2000)).toEqual([950, 2050]);
  expect(driftRange(0, 0)).toEqual([0, 1]);
});

describe('the range of an axis', () => {
  test('starts from zero', () => expect(niceRange(false, 90, 100)).toEqual([0, 105]));
  test('spans factors', () => expect(niceRange(true, 0.0013, 0.73)).toEqual([0.001, 1]));
  test('has some width where there is one value or none', () => {
    expect(niceRange(false, 0, 0)).toEqual([0, 1]);
    expect(niceRange(true, 10, 10)).toEqual([5, 20]);
    expect(niceRange(true, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)).toEqual([1, 10]);
  });
});
