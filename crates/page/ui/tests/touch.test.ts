import { expect, test } from 'vitest';
import { pinched } from '../src/chart/touch';

const rounded = (range: [number, number] | null) => range?.map((value) => Math.round(value * 1000) / 1000);

test('what was under two fingers stays under them', () => {
  // 0 to 100 over 500 pixels: 20 and 80 are held, and moved to the edges.
  expect(rounded(pinched([0, 100], 500, false, [100, 400], [0, 500]))).toEqual([20, 80]);
  // Moved together, to the right.
  expect(rounded(pinched([0, 100], 500, false, [100, 400], [150, 450]))).toEqual([-10, 90]);
  // Closed again.
  expect(rounded(pinched([20, 80], 500, false, [0, 500], [100, 400]))).toEqual([0, 100]);
});

test('the second finger may be left of the first', () => {
  expect(rounded(pinched([0, 100], 500, false, [400, 100], [500, 0]))).toEqual([20, 80]);
});

test('equal steps of a logarithmic axis are equal factors', () => {
  expect(rounded(pinched([1, 10_000], 400, true, [100, 300], [0, 400]))).toEqual([10, 1000]);
});

test.each([
  [0, [100, 400], [0, 500]],
  [500, [100, 101], [0, 500]],
  [500, [100, 400], [200, 205]],
  [500, [100, 400], [400, 100]],
] as [number, [number, number], [number, number]][])('fingers that tell no width change nothing: %s %s %s', (width, before, after) => {
  expect(pinched([0, 100], width, false, before, after)).toBeNull();
});
