/** Names within the axes, in CSS pixels: each where it lies on as little as possible. The image of a run places them alike. */

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Where a name may stand, and how much worse that is than elsewhere. */
export interface Place {
  x: number;
  y: number;
  /** It ends there instead of beginning. */
  leftwards: boolean;
  worse: number;
}

/** What is there already, and how bad it is to lie on it. */
export type Taken = [box: Box, bad: number];

/** How bad it is to lie on a line, on a mark, on another name, or beyond the axes, where a place that is a little worse counts one. */
export const ON_LINE = 3;
export const ON_MARK = 4;
export const ON_NAME = 90;
const BEYOND = 100;
/** How bad it is to stand aside from its place, for it would go beyond the axes there. */
const ASIDE = 10;

/** Above and below the line that letters stand on. */
const UP = 10;
const DOWN = 3;
/** Between a name and what it names. */
const AIR = 4;
/** Between two names: nearer they read as one. */
const APART = 6;
/** From the upper edge down to the first line of names, and from one to the next, of which there are so many. */
const FIRST = 12;
const LINE = 14;
const LINES = 5;

/** Where something upright may have its name: beside its upper end, rather towards the middle. */
export function beside(x: number, frame: Box): Place[] {
  const rightwards = { x: x + AIR, leftwards: false };
  const leftwards = { x: x - AIR, leftwards: true };
  const sides = x > (frame.left + frame.right) / 2 ? [leftwards, rightwards] : [rightwards, leftwards];
  return lines().flatMap((line) => sides.map((side, worse) => ({ ...side, y: frame.top + FIRST + LINE * line, worse: line + worse })));
}

/** Where something that runs across may have its name: at an end, above it or further and further below. */
export function along(y: number, frame: Box): Place[] {
  const right = { x: frame.right - AIR, leftwards: true };
  const left = { x: frame.left + AIR, leftwards: false };
  const heights = [y - AIR, ...lines().map((line) => y + FIRST + LINE * line)];
  return heights.flatMap((height, worse) => [
    { ...right, y: height, worse },
    { ...left, y: height, worse: worse + 2 },
  ]);
}

/** Where something that runs beyond the upper edge may have its name. */
export function above(frame: Box): Place[] {
  return lines().map((line) => ({ x: frame.right - AIR, y: frame.top + FIRST + LINE * line, leftwards: true, worse: line }));
}

/** Where a stretch may have its name: below, above, or half way, where it begins or where it ends. */
export function within(from: number, to: number, frame: Box): Place[] {
  const heights = [frame.bottom - AIR, frame.top + FIRST, (frame.top + frame.bottom) / 2];
  return heights.flatMap((y, worse) => [
    { x: from + AIR, y, leftwards: false, worse },
    { x: to - AIR, y, leftwards: true, worse: worse + 2 },
  ]);
}

/** The best of these places, the first of equals; it is taken from now on. */
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

/** A name that would go beyond the axes stands at their edge: what is cut off cannot be read. One that is wider than they are goes on beyond. */
function kept(one: Place, width: number, frame: Box): Place {
  const { left, right } = covered(one, width);
  const aside = left < frame.left ? frame.left - left : right > frame.right ? frame.right - right : 0;
  return aside === 0 || width > frame.right - frame.left ? one : { ...one, x: one.x + aside, worse: one.worse + ASIDE };
}

/** What a name would lie on. */
function covered({ x, y, leftwards }: Place, width: number): Box {
  const left = leftwards ? x - width : x;
  return { left, right: left + width, top: y - UP, bottom: y + DOWN };
}

function meet(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

const lines = () => Array.from({ length: LINES }, (_, line) => line);
