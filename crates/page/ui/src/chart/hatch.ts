/** Areas that can be told apart without colour. */

import { clear, type Hatch } from '../palette';

const SIDE = 8;
const GROUND = 0.24;
const LINES = 0.6;
const known = new Map<string, CanvasPattern>();

/** The fill of an area on a canvas with `ratio` pixels per CSS pixel. */
export function hatched(colour: string, hatch: Hatch, ratio: number): CanvasPattern | string {
  if (hatch === 'none') return clear(colour, GROUND / 2);
  if (hatch === 'plain') return clear(colour, GROUND + 0.16);
  const name = `${colour} ${hatch} ${ratio}`;
  const made = known.get(name);
  if (made) return made;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = Math.round(SIDE * ratio);
  const context = canvas.getContext('2d');
  if (!context) return clear(colour, GROUND);
  context.scale(ratio, ratio);
  context.fillStyle = clear(colour, GROUND);
  context.fillRect(0, 0, SIDE, SIDE);
  context.strokeStyle = context.fillStyle = clear(colour, LINES);
  context.lineWidth = 1;
  for (const [x0, y0, x1, y1] of STROKES[hatch]) {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  }
  for (const at of hatch === 'dots' ? [2, 6] : []) {
    context.beginPath();
    context.arc(at, at, 0.7, 0, 7);
    context.fill();
  }
  const pattern = context.createPattern(canvas, 'repeat');
  if (!pattern) return clear(colour, GROUND);
  known.set(name, pattern);
  return pattern;
}

/** A line from one point to another. */
type Stroke = [number, number, number, number];

const RISING: Stroke[] = [
  [0, 8, 8, 0],
  [-2, 2, 2, -2],
  [6, 10, 10, 6],
];
const FALLING: Stroke[] = RISING.map(([a, b, c, d]) => [8 - a, b, 8 - c, d]);

/** The lines of a tile, such that adjacent tiles join. */
export const STROKES: Record<Hatch, Stroke[]> = {
  rising: RISING,
  falling: FALLING,
  cross: [...RISING, ...FALLING],
  level: [[0, 4, 8, 4]],
  upright: [[4, 0, 4, 8]],
  plain: [],
  none: [],
  dots: [],
};
