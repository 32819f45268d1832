/**
 * Colours and styles. Series colours start from those of Okabe and Ito, which colour-blind eyes can tell apart, made darker or
 * lighter until each stands out from its background; a series also has a dash and an area a hatching, so that colour is never the
 * only sign. The tests compute every contrast.
 */

import type { Role, Tone } from './document';

export type Scheme = 'light' | 'dark';

const LIGHT = {
  page: '#f6f7f8',
  /** Background of charts, tables and fields. */
  ground: '#ffffff',
  /** Separators. */
  rule: '#d9dde1',
  /** Borders of buttons and inputs. */
  edge: '#7b858f',
  grid: '#e8ebee',
  text: '#15191d',
  faint: '#55606b',
  link: '#00598c',
  focus: '#0072b2',
  good: '#006b4e',
  bad: '#b03a00',
  warn: '#855000',
  /** Background of a caveat. */
  doubt: '#fdf4e3',
  series: ['#0072b2', '#d55e00', '#00835f', '#b4588f', '#b07500', '#2e8bc0', '#7d7600', '#4b4f9c'],
  neutral: '#6b747d',
  ramp: ['#dbe9f6', '#9cc8e6', '#4f9bcb', '#1f6aa5', '#08305f'],
};

/** The colours of one scheme; they are the style sheet's custom properties. */
export type Palette = typeof LIGHT;

const DARK: Palette = {
  page: '#101316',
  ground: '#171b1f',
  rule: '#2d343a',
  edge: '#7a858f',
  grid: '#252b31',
  text: '#e6e9ec',
  faint: '#9da7b1',
  link: '#7cc4f5',
  focus: '#56b4e9',
  good: '#3fc79a',
  bad: '#ff8f57',
  warn: '#e9b44c',
  doubt: '#2a2314',
  series: ['#56a8e0', '#f0803c', '#2fbf92', '#dd94bf', '#e69f00', '#8fd0f7', '#e6dc4a', '#a3a5f0'],
  neutral: '#98a2ac',
  ramp: ['#1c3550', '#23618f', '#3a93c4', '#8cc9e3', '#f4f6cf'],
};

export function palette(scheme: Scheme): Palette {
  return scheme === 'dark' ? DARK : LIGHT;
}

/** How a series is drawn. */
export interface Look {
  colour: string;
  /** Lengths of strokes and gaps in CSS pixels; empty: solid. */
  dash: readonly number[];
  width: number;
  hatch: Hatch;
}

/** How an area is filled, beside its colour. */
export type Hatch = 'plain' | 'none' | 'rising' | 'falling' | 'dots' | 'level' | 'upright' | 'cross';

export const HATCHES: readonly Hatch[] = ['rising', 'dots', 'falling', 'level', 'cross', 'upright', 'plain'];

const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2], [2, 2, 8, 2]];

/** For each named role: colour (−1: neutral), dash, width, hatching. */
const NAMED: Record<Exclude<Role, { nth: number }>, [number, readonly number[], number, Hatch]> = {
  offered: [-1, [5, 4], 1.5, 'plain'],
  achieved: [0, [], 1.5, 'plain'],
  good: [2, [], 1.5, 'plain'],
  bad: [1, [3, 2], 2, 'cross'],
  waiting: [4, [10, 3, 2, 3], 1.5, 'rising'],
  busy: [2, [], 1.5, 'plain'],
  idle: [-1, [2, 3], 1.5, 'none'],
  half: [5, [], 1.5, 'plain'],
  ninety: [0, [8, 3], 1.5, 'rising'],
  ninety_nine: [3, [], 2.25, 'falling'],
  largest: [-1, [2, 2], 1.25, 'dots'],
};

export function look(role: Role, scheme: Scheme): Look {
  const colours = palette(scheme);
  if (typeof role === 'object') {
    const n = role.nth;
    return {
      colour: colours.series[n % colours.series.length]!,
      dash: DASHES[n % DASHES.length]!,
      width: 1.5,
      hatch: HATCHES[n % HATCHES.length]!,
    };
  }
  const [colour, dash, width, hatch] = NAMED[role];
  return { colour: colour < 0 ? colours.neutral : colours.series[colour]!, dash, width, hatch };
}

const TONED: Record<Tone, keyof Palette & Tone | 'text'> = {
  plain: 'faint',
  strong: 'text',
  good: 'good',
  bad: 'bad',
  warn: 'warn',
  faint: 'faint',
};

/** The colour of a tone in drawings, as opposed to text. */
export function toneColour(tone: Tone, scheme: Scheme): string {
  return palette(scheme)[TONED[tone]];
}

/** A colour of the ramp, at 0 to 1. */
export function shade(share: number, scheme: Scheme): string {
  const stops = palette(scheme).ramp;
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const [from, to] = [channels(stops[index]!), channels(stops[index + 1]!)];
  const mixed = from.map((channel, i) => Math.round(channel + (to[i]! - channel) * (place - index)));
  return `rgb(${mixed.join(' ')})`;
}

/** The same colour with this opacity. */
export function clear(colour: string, share: number): string {
  const [r, g, b] = channels(colour);
  return `rgb(${r} ${g} ${b} / ${share})`;
}

/** Red, green and blue, 0 to 255. */
export function channels(colour: string): [number, number, number] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];
}
