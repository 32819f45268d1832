/**
 * A run as a page: the same nouns as in `crates/view/src/document.rs`, where each is explained; each is a reader and the type it
 * reads. The page draws any document; it knows nothing of trials, threads or databases.
 */

import { flag, list, loose, isObject, number, numberOrNull, object, oneOf, orNull, string, stringOrNull, type Of } from './reader';

/** The highest document schema that this page knows. */
export const SCHEMA = 1;

export const TONES = ['plain', 'strong', 'good', 'bad', 'warn', 'faint'] as const;
export type Tone = (typeof TONES)[number];

const UNITS = [
  'time',
  'seconds',
  'per_second',
  'count',
  'bytes',
  'bytes_per_second',
  'share',
  'ratio',
  'processors',
  'percentile',
] as const;
/** Dates, in seconds since 1970, are the page's own unit: no document has a date axis. */
export type Unit = (typeof UNITS)[number] | 'date';

export const ROLES = [
  'offered',
  'achieved',
  'good',
  'bad',
  'waiting',
  'busy',
  'idle',
  'half',
  'ninety',
  'ninety_nine',
  'largest',
] as const;
export type NamedRole = (typeof ROLES)[number];
export type Role = NamedRole | { nth: number };

const tone = oneOf(TONES, 'plain');
const state = oneOf(['running', 'ended', 'cut_short'] as const, 'ended');
const numbers = list(number(0));

const piece = object({ text: string, tone });
export type Piece = Of<typeof piece>;

const text = list(piece);
export type Text = Piece[];

const head = object({
  id: string,
  /** The name that the user gave it; empty if none. */
  name: string,
  command: string,
  target: string,
  goal: string,
  version: string,
  started_unix_ms: number(0),
  ended_unix_ms: numberOrNull,
  state,
  machine: string,
  now: (value) => stringOrNull(value) || null,
  /** The shell command that repeats the run. */
  again: stringOrNull,
});
export type Head = Of<typeof head>;

/** How busy a station was; null: unknown. */
const full = object({ in_use: stringOrNull, share: numberOrNull, stay: stringOrNull, waiting: stringOrNull });
export type Full = Of<typeof full>;

/** A station on the request's path; the one that gave first is bad. */
const station = object({
  name: string,
  facts: list(text),
  well: orNull(full),
  degraded: orNull(full),
  section: stringOrNull,
  tone,
});
export type Station = Of<typeof station>;

const doubt = object({ text: string, section: stringOrNull });
export type Doubt = Of<typeof doubt>;

const table = object({
  title: string,
  head: list(string),
  rows: list(text),
  text: list(number(-1)),
  runs: list(stringOrNull),
});
export type Table = Of<typeof table>;

const axis = object({ name: string, unit: oneOf<Unit>(UNITS, 'count'), log: flag });

const point = object({
  x: number(Number.NaN),
  y: number(Number.NaN),
  low: numberOrNull,
  high: numberOrNull,
  label: string,
  tone,
});
export type Point = Of<typeof point>;

function role(value: unknown): Role {
  if (isObject(value)) return { nth: Math.max(0, Math.floor(number(0)(value.nth))) };
  const known = oneOf(ROLES, 'unknown')(value);
  return known === 'unknown' ? { nth: 0 } : known;
}

const series = object({
  name: string,
  role,
  column: stringOrNull,
  points: list(point, ({ x, y }) => Number.isFinite(x) && Number.isFinite(y)),
});
export type Series = Of<typeof series>;

const bound = object({ name: string, at: number(Number.NaN), along_x: flag, tone });
export type Bound = Of<typeof bound>;

/** A range of the x axis; a null end is the axis's edge. */
const band = object({
  name: string,
  /** What its shade means, for the legend; empty: not in the legend. */
  means: string,
  from: numberOrNull,
  to: numberOrNull,
  tone,
});
export type Band = Of<typeof band>;

/** One of several rows, from top to bottom. */
const row = object({
  name: string,
  note: string,
  /** Its outcome. */
  word: piece,
});
export type Row = Of<typeof row>;

const heat = object({ x: numbers, y: numbers, counts: numbers });
export type Heat = Of<typeof heat>;

const phase = object({ from: number(0), to: number(-1), label: string, tone });
export type Phase = Of<typeof phase>;
const phases = list(phase, ({ from, to }) => to >= from);

const chart = object({
  id: string,
  title: string,
  note: string,
  form: oneOf(['lines', 'stack', 'points', 'intervals', 'bars', 'heat'] as const, 'lines'),
  x: axis,
  y: axis,
  series: list(series),
  bounds: list(bound, ({ at }) => Number.isFinite(at)),
  bands: list(band),
  /** For intervals and bars: the rows from top to bottom; a point's y is the row's index, from 0. */
  rows: list(row),
  heat: orNull(heat),
  marks: phases,
  /** The meaning of a hollow mark, such as `void`; empty: merely doubtful. */
  hollow: string,
});
export type Chart = Of<typeof chart>;

/** Calls, each before its callees: depth, index of the name, and samples of both loads. */
const flame = object({
  id: string,
  title: string,
  note: string,
  name: string,
  beside_name: stringOrNull,
  samples: number(0),
  beside: number(0),
  modules: list(string),
  /** Name and module; -1: a thread. */
  names: list((one): [string, number] => (Array.isArray(one) ? [string(one[0]), number(-1)(one[1])] : ['', -1])),
  calls: list((one): [number, number, number, number] => {
    const [depth = 0, name = -1, samples = 0, beside = 0] = numbers(one);
    return [depth, name, samples, beside];
  }),
});
export type Flame = Of<typeof flame>;

const parts = object({ id: string, title: string, texts: list(text), tables: list(table), charts: list(chart) });
export type Section = Of<typeof parts> & { flames?: Flame[] };

function section(value: unknown): Section {
  const { flames } = loose(value);
  const read = parts(value);
  return { ...read, title: read.title || read.id, ...(Array.isArray(flames) && { flames: list(flame)(flames) }) };
}

export const readFront = object({
  head,
  verdict: list(text),
  chain: list(station),
  pictures: list(chart),
  doubts: list(doubt),
  // Nobody would find it without a heading.
  sections: list(section, ({ title }) => title !== ''),
  phases,
});
export type Front = Of<typeof readFront>;

/** Figures of each second; readers make every column as long as the times. */
export interface Timeline {
  at: number[];
  columns: { id: string; values: (number | null)[]; adds: boolean }[];
}

export function readTimeline(value: unknown): Timeline {
  const from = loose(value);
  const at = numbers(from.at);
  const column = object({
    id: string,
    values: (sent) => at.map((_, second) => numberOrNull(Array.isArray(sent) ? sent[second] : null)),
    adds: flag,
  });
  return { at, columns: list(column)(from.columns) };
}

export interface Document {
  schema: number;
  front: Front;
  timeline: Timeline;
}

/** What a search knows of its limit; null is unknown. */
const limit = object({ held: numberOrNull, lower: numberOrNull, upper: numberOrNull, unit: string });
export type Limit = Of<typeof limit>;

/** How a run differs from the previous one like it, in words. */
const before = object({ id: string, text: string, tone });

/** A run as listed in the history. */
const listed = object({
  id: string,
  name: string,
  tags: list(string, (tag) => tag !== ''),
  commit: string,
  command: string,
  target: string,
  machine: string,
  verdict: string,
  verdict_tone: tone,
  state,
  started_unix_ms: number(0),
  ended_unix_ms: numberOrNull,
  limit: orNull(limit),
  /** Runs with the same number can be compared without a caveat. */
  alike: numberOrNull,
  before: orNull(before),
});
/** The plan is the checked plan as TOML; empty if unknown. */
export type Listed = Of<typeof listed> & { plan: string };

/** The runs of a history. */
export function readHistory(value: unknown): Listed[] {
  const { runs, plans } = loose(value);
  const known = loose(plans);
  return list(listed, (run) => run.id !== '')(runs).map((run) => ({ ...run, plan: string(known[string(run.alike)]) }));
}

/** Whether a chart's x axis is the run's time, which it shares with the others. */
export function overTime(chart: Chart): boolean {
  return chart.x.unit === 'time';
}
