/** Ticks of axes. Every chart, however drawn, takes its ticks from here, so that the same range looks the same. */

import type { Unit } from './document';

/** Ticks between `min` and `max`, inclusive, at most about `room` of them. */
export function ticks(unit: Unit, log: boolean, min: number, max: number, room: number): number[] {
  if (!(max > min) || !Number.isFinite(min) || !Number.isFinite(max)) return Number.isFinite(min) ? [min] : [];
  if (unit === 'percentile') return percentileTicks(min, max, room);
  if (unit === 'date') return dateTicks(min, max, room);
  if (log && min > 0) return unit === 'bytes' ? powersOfTwo(min, max, room) : logTicks(min, max, room);
  return linearTicks(steps(unit, max - min), min, max, room);
}

/** For 1 ÷ (1 − quantile): 0 %, 50 %, 90 %, 99 %, 99.9 %, …; for a small part of that range, whatever divides it. */
export function percentileTicks(min: number, max: number, room: number): number[] {
  const all = [1, 2];
  for (let decade = 10; decade <= max * (1 + 1e-9) && decade < 1e15; decade *= 10) all.push(decade);
  const within = all.filter((tick) => tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9));
  if (within.length < 2) return logTicks(Math.max(min, 1), max, room);
  // The median always stays: the rest is read against it.
  return within.length <= room ? within : thinned(within, room, [2]);
}

/** Powers of ten; with 2 and 5 between them where there is room, or fewer than two powers. */
export function logTicks(min: number, max: number, room: number): number[] {
  const fine = partsOfTen([1, 2, 5], min, max);
  if (fine.length < 2) return linearTicks(DECIMAL, min, max, room);
  const tens = partsOfTen([1], min, max);
  const found = fine.length <= room || tens.length < 2 ? fine : tens;
  return found.length <= room ? found : thinned(found, room, []);
}

function partsOfTen(parts: readonly number[], min: number, max: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++) {
    for (const part of parts) {
      const tick = Number(`${part}e${power}`);
      if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9)) found.push(tick);
    }
  }
  return found;
}

/** Memory goes by powers of two. */
function powersOfTwo(min: number, max: number, room: number): number[] {
  const first = Math.ceil(Math.log2(min) - 1e-9);
  const last = Math.floor(Math.log2(max) + 1e-9);
  if (last <= first) return linearTicks(BINARY, min, max, room);
  const every = Math.floor((last - first) / Math.max(1, room)) + 1;
  const found: number[] = [];
  for (let power = first; power <= last; power += every) found.push(2 ** power);
  return found;
}

/** In minutes: parts of a day, then days and weeks. */
const DATE_STEPS = [1, 5, 15, 30, 60, 180, 360, 720, 1440, 2880, 10080, 20160, 40320];

/** In the viewer's local time: days begin at its midnight. */
function dateTicks(min: number, max: number, room: number): number[] {
  const least = (max - min) / 60 / Math.max(1, room);
  const step = DATE_STEPS.find((minutes) => minutes >= least) ?? 1440 * Math.ceil(least / 1440);
  const found: number[] = [];
  const at = new Date(min * 1000);
  for (at.setHours(0, 0, 0, 0); at.getTime() <= max * 1000; at.setMinutes(at.getMinutes() + step)) {
    if (at.getTime() >= min * 1000) found.push(at.getTime() / 1000);
  }
  return found;
}

/** Linear ticks: the smallest step with no more ticks than there is room for. */
function linearTicks(step: (least: number) => number, min: number, max: number, room: number): number[] {
  const width = step((max - min) / Math.max(1, room));
  const found: number[] = [];
  const first = Math.ceil(min / width - 1e-9);
  for (let i = first; i * width <= max + width * 1e-9 && found.length < 1000; i++) {
    found.push(exact(i * width, width));
  }
  return found;
}

const DECIMAL = (least: number): number => {
  const power = Math.floor(Math.log10(least));
  for (const part of [1, 2, 5, 10]) {
    const step = part * 10 ** power;
    if (step >= least * (1 - 1e-9)) return step;
  }
  return 10 ** (power + 1);
};

const BINARY = (least: number): number => 2 ** Math.max(0, Math.ceil(Math.log2(least) - 1e-9));

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

const CLOCK = (least: number): number => {
  if (least < 0.7) return DECIMAL(least);
  return CLOCK_STEPS.find((step) => step >= least * (1 - 1e-9)) ?? 86400 * Math.ceil(least / 86400);
};

function steps(unit: Unit, range: number): (least: number) => number {
  if (unit === 'time') return CLOCK;
  if (unit === 'bytes') return BINARY;
  // There is no half a thing, except in a mean below one.
  if (unit === 'count' && range >= 2) return (least) => Math.max(1, DECIMAL(least));
  return DECIMAL;
}

/** Without rounding errors: 0.30000000000000004 is 0.3. */
function exact(value: number, step: number): number {
  const places = Math.max(0, Math.min(20, 2 - Math.floor(Math.log10(step))));
  return Number(value.toFixed(places));
}

function thinned(all: number[], room: number, keep: number[]): number[] {
  const every = Math.ceil(all.length / Math.max(1, room));
  return all.filter((tick, index) => index % every === 0 || keep.includes(tick));
}

/** An axis range that contains all values: from 0 if possible, to a little above the largest. */
export function niceRange(log: boolean, min: number, max: number): [number, number] {
  if (!Number.isFinite(min) || !Number.isFinite(max)) return log ? [1, 10] : [0, 1];
  if (log) {
    if (min <= 0 || max <= 0) return [1, 10];
    const [low, high] = [roundedDown(min), roundedUp(max)];
    return low < high ? [low, high] : [low / 2, high * 2];
  }
  const low = min < 0 ? min * 1.05 : 0;
  const high = max > 0 ? max * 1.05 : min < 0 ? 0 : 1;
  return [low, high];
}

/** The minimum of a limit axis, as a share of its maximum: on a narrower axis mere noise would look like drift. */
const DRIFT = 0.75;

/** An axis range that shows a drift of limits: not from 0. */
export function driftRange(min: number, max: number): [number, number] {
  const low = Math.min(min, DRIFT * max);
  const air = (max - low) * 0.05 || 1;
  return [Math.max(0, low - air), max + air];
}

function roundedDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const part = value / power;
  return power * (part >= 5 - 1e-9 ? 5 : part >= 2 - 1e-9 ? 2 : 1);
}

function roundedUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const part = value / power;
  return power * (part <= 1 + 1e-9 ? 1 : part <= 2 + 1e-9 ? 2 : part <= 5 + 1e-9 ? 5 : 10);
}
