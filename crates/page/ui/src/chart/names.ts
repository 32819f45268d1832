/**
 * Placement of names within the axes, in CSS pixels: each where it covers as little as possible. A run's picture places them the
 * same way.
 */

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A possible place for a name, and its penalty. */
export interface Place {
  x: number;
  y: number;
  /** The text ends there instead of beginning. */
  leftwards: boolean;
  worse: number;
}

/** An occupied box, and the penalty for covering it. */
export type Taken = [box: Box, bad: number];

/** Penalties for covering a line, a mark, another name, or lying beyond the axes; a slightly worse place costs one. */
export const ON_LINE = 3;
export const ON_MARK = 4;
export const ON_NAME = 90;
const BEYOND = 100;
/** Penalty for moving aside to stay within the axes. */
const ASIDE = 10;

/** Extent above and below the baseline. */
const UP = 10;
const DOWN = 3;
/** Between a name and what it names. */
const AIR = 4;
/** Between two names: closer together they read as one. */
const APART = 6;
/** Distance from the upper edge to the first line of names, line height, and number of lines. */
const FIRST = 12;
const LINE = 14;
const LINES = 5;

/** Places for the name of something vertical: beside its upper end, preferably towards the middle. */
export function beside(x: number, frame: Box): Place[] {
  const rightwards = { x: x + AIR, leftwards: false };
  const leftwards = { x: x - AIR, leftwards: true };
  const sides = x > (frame.left + frame.right) / 2 ? [leftwards, rightwards] : [rightwards, leftwards];
  return lines().flatMap((line) => sides.map((side, worse) => ({ ...side, y: frame.top + FIRST + LINE * line, worse: line + worse })));
}

/** Places for the name of something horizontal: at an end, above it or further and further below. */
export function along(y: number, frame: Box): Place[] {
  const right = { x: frame.right - AIR, leftwards: true };
  const left = { x: frame.left + AIR, leftwards: false };
  const heights = [y - AIR, ...lines().map((line) => y + FIRST + LINE * line)];
  return heights.flatMap((height, worse) => [
    { ...right, y: height, worse },
    { ...left, y: height, worse: worse + 2 },
  ]);
}

/** Places for the name of something beyond the upper edge. */
export function above(frame: Box): Place[] {
  return lines().map((line) => ({ x: frame.right - AIR, y: frame.top + FIRST + LINE * line, leftwards: true, worse: line }));
}

/** Places for the name of a range: at the bottom, top or middle, at its beginning or its end. */
export function within(from: number, to: number, frame: Box): Place[] {
  const heights = [frame.bottom - AIR, frame.top + FIRST, (frame.top + frame.bottom) / 2];
  return heights.flatMap((y, worse) => [
    { x: from + AIR, y, leftwards: false, worse },
    { x: to - AIR, y, leftwards: true, worse: worse + 2 },
  ]);
}

/** The best of these places, the first of equals; it is then occupied. */
export function place(places: readonly Place[], width: number, taken: Taken[], frame: Box): Place {
  const bad = (one: Place) => {
    const box = covered(one, width);
    const on = taken.reduce((sum, [other, worse]) => (meet(box, other) ? sum + worse : sum), one.worse);
    const inside = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
    return inside ? on : on + BEYOND;
  };
  const best = places.map((one) => kept(one, width, frame)).reduce((before, one) => (bad(one) < bad(before) ? one : before));
  const box = covered(best, width);
  taken.push([{ ...box, left: box.left - APART, right: box.right + APART }, ON_NAME]);
  return best;
}

/** Keeps a name within the axes: clipped text cannot be read. One wider than the axes still extends beyond. */
function kept(one: Place, width: number, frame: Box): Place {
  const { left, right } = covered(one, width);
  const aside = left < frame.left ? frame.left - left : right > frame.right ? frame.right - right : 0;
  return aside === 0 || width > frame.right - frame.left ? one : { ...one, x: one.x + aside, worse: one.worse + ASIDE };
}

/** The box that a name would cover. */
function covered({ x, y, leftwards }: Place, width: number): Box {
  const left = leftwards ? x - width : x;
  return { left, right: left + width, top: y - UP, bottom: y + DOWN };
}

function meet(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

const lines = () => Array.from({ length: LINES }, (_, line) => line);
