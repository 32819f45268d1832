/** Touch on a chart: a tap or one finger moves the cursor, two zoom and pan. Vertical scrolling of the page is unaffected. */

import type { Range } from './group';

/** What touch can do to a chart. Positions are in CSS pixels from the left edge of the plot. */
export interface Touched {
  width: () => number;
  /** The visible range. */
  range: () => Range;
  log: () => boolean;
  moveTo: (left: number) => void;
  zoom: (range: Range) => void;
}

/** Fingers closer than this, in CSS pixels, give no usable width. */
const LEAST = 16;

/** The range that keeps what was under two fingers under them. */
export function pinched(shown: Range, width: number, log: boolean, before: Range, after: Range): Range | null {
  const apart = after[1] - after[0];
  if (!(width > 0) || Math.abs(before[1] - before[0]) < LEAST || Math.abs(apart) < LEAST) return null;
  if (apart > 0 !== before[1] - before[0] > 0) return null;
  const [into, back] = log ? [Math.log10, (value: number) => 10 ** value] : [Number, Number];
  const [low, high] = [into(shown[0]), into(shown[1])];
  const under = (left: number) => low + ((high - low) * left) / width;
  const each = (under(before[1]) - under(before[0])) / apart;
  const from = under(before[0]) - after[0] * each;
  return [back(from), back(from + width * each)];
}

/** Listens to touches on an element for as long as it exists. */
export function onTouch(element: HTMLElement, touched: Touched): void {
  const fingers = new Map<number, number>();
  let begun: { shown: Range; places: Range } | null = null;
  const left = (event: PointerEvent) => event.clientX - element.getBoundingClientRect().left;
  const places = (): Range | null => {
    const [one, two] = [...fingers.values()];
    return one === undefined || two === undefined ? null : [one, two];
  };
  const begin = () => {
    const now = places();
    begun = now && { shown: touched.range(), places: now };
  };
  const down = (event: PointerEvent) => {
    if (event.pointerType !== 'touch') return;
    fingers.set(event.pointerId, left(event));
    if (fingers.size === 1) touched.moveTo(left(event));
    begin();
  };
  const move = (event: PointerEvent) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, left(event));
    const now = places();
    if (begun && now) {
      const range = pinched(begun.shown, touched.width(), touched.log(), begun.places, now);
      if (range) touched.zoom(range);
    } else {
      touched.moveTo(left(event));
    }
  };
  const up = (event: PointerEvent) => {
    if (fingers.delete(event.pointerId)) begin();
  };
  element.addEventListener('pointerdown', down);
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', up);
  element.addEventListener('pointercancel', up);
}
