import { expect, test } from 'vitest';
import { above, along, beside, ON_LINE, ON_MARK, place, type Taken, within } from '../src/chart/names';

const FRAME = { left: 100, right: 500, top: 0, bottom: 200 };
const line = (x: number): Taken => [{ left: x - 1, right: x + 1, top: 0, bottom: 200 }, ON_LINE];
const mark = (x: number, y: number): Taken => [{ left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 }, ON_MARK];

test('a name stands beside its line, towards the middle', () => {
  expect(place(beside(300, FRAME), 60, [line(300)], FRAME)).toMatchObject({ x: 304, y: 12, leftwards: false });
  expect(place(beside(400, FRAME), 60, [line(400)], FRAME)).toMatchObject({ x: 396, y: 12, leftwards: true });
});

test('it changes sides rather than lie on another line, and goes down rather than lie on another name', () => {
  const taken = [line(380), line(400)];
  expect(place(beside(400, FRAME), 60, taken, FRAME)).toMatchObject({ x: 404, leftwards: false });
  expect(place(beside(380, FRAME), 60, taken, FRAME)).toMatchObject({ x: 376, y: 12, leftwards: true });
  expect(place(beside(376, FRAME), 60, taken, FRAME)).toMatchObject({ x: 372, y: 26, leftwards: true });
});

test('it never leaves the axes while there is another place', () => {
  expect(place(beside(495, FRAME), 60, [line(485), line(495)], FRAME)).toMatchObject({ x: 491, leftwards: true });
  expect(place(along(3, FRAME), 60, [], FRAME)).toMatchObject({ x: 496, y: 15 });
});

test('a name too wide for both sides of its line stands at the edge, and is not cut off', () => {
  const found = place(beside(280, FRAME), 250, [line(280)], FRAME);
  expect(found.leftwards ? found.x - 250 : found.x).toBeGreaterThanOrEqual(FRAME.left);
  expect(found.leftwards ? found.x : found.x + 250).toBeLessThanOrEqual(FRAME.right);
  expect(place(beside(280, FRAME), 450, [line(280)], FRAME)).toMatchObject({ x: 284 });
});

test('a stretch is named where no mark is', () => {
  const names = (taken: Taken[]) => place(within(400, 480, FRAME), 60, taken, FRAME);
  expect(names([])).toMatchObject({ x: 404, y: 196 });
  expect(names([mark(410, 190)])).toMatchObject({ x: 404, y: 12 });
  expect(names([mark(410, 190), mark(440, 10)])).toMatchObject({ x: 476, y: 196, leftwards: true });
  expect(names([mark(440, 190), mark(440, 10)])).toMatchObject({ x: 404, y: 100 });
});

test('what is beyond the upper edge is named there, one below the other', () => {
  const taken: Taken[] = [];
  expect([1, 2, 3].map(() => place(above(FRAME), 60, taken, FRAME).y)).toEqual([12, 26, 40]);
});

/** "knee 16,320/sholds 29,020/s": two names that met read as one. */
test('between two names there is a gap', () => {
  const taken: Taken[] = [];
  const first = place(beside(200, FRAME), 80, taken, FRAME);
  expect(first).toMatchObject({ x: 204, y: 12, leftwards: false });
  expect(place(beside(370, FRAME), 80, taken, FRAME)).toMatchObject({ x: 374, y: 12, leftwards: false });
  expect(place(beside(372, FRAME), 76, [taken[0]!], FRAME)).toMatchObject({ x: 368, y: 12, leftwards: true });
});
