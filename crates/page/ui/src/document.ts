/**
 * A run as a page: the same nouns as in `crates/view/src/document.rs`, where each is explained. The page draws any document;
 * it knows nothing of trials, threads or databases.
 */

/** The highest schema of a document that this page knows. */
export const SCHEMA = 1;

export const TONES = ['plain', 'strong', 'good', 'bad', 'warn', 'faint'] as const;
export type Tone = (typeof TONES)[number];

export const STATES = ['running', 'ended', 'cut_short'] as const;
export type State = (typeof STATES)[number];

export const FORMS = ['lines', 'stack', 'points', 'intervals', 'bars', 'heat'] as const;
export type Form = (typeof FORMS)[number];

export const UNITS = [
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
/** A date, in seconds since 1970, is the page's own: no document has an axis of dates. */
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

export interface Piece {
  text: string;
  tone: Tone;
}

export type Text = Piece[];

export interface Head {
  id: string;
  /** What whoever started it called it; empty if nothing. */
  name: string;
  command: string;
  target: string;
  goal: string;
  version: string;
  started_unix_ms: number;
  ended_unix_ms: number | null;
  state: State;
  machine: string;
  now: string | null;
  /** What makes the run again, for a shell. */
  again: string | null;
}

/** Somewhere that a request comes by; the one that gave first is bad. */
export interface Station {
  name: string;
  facts: Text[];
  well: Full | null;
  degraded: Full | null;
  section: string | null;
  tone: Tone;
}

/** How full a station was; null: not known. */
export interface Full {
  in_use: string | null;
  share: number | null;
  stay: string | null;
  waiting: string | null;
}

export interface Doubt {
  text: string;
  section: string | null;
}

export interface Table {
  title: string;
  head: string[];
  rows: Piece[][];
  text: number[];
  runs: (string | null)[];
}

export interface Axis {
  name: string;
  unit: Unit;
  log: boolean;
}

export interface Point {
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  label: string;
  tone: Tone;
}

export interface Series {
  name: string;
  role: Role;
  column: string | null;
  points: Point[];
}

export interface Bound {
  name: string;
  at: number;
  along_x: boolean;
  tone: Tone;
}

/** A stretch of the x axis; an end that is null is the edge. */
export interface Band {
  name: string;
  /** What its shade means, for the legend; empty: none tells of it. */
  means: string;
  from: number | null;
  to: number | null;
  tone: Tone;
}

/** One of several things that stand one below the other. */
export interface Row {
  name: string;
  note: string;
  /** What became of it. */
  word: Piece;
}

export interface Heat {
  x: number[];
  y: number[];
  counts: number[];
}

export interface Chart {
  id: string;
  title: string;
  note: string;
  form: Form;
  x: Axis;
  y: Axis;
  series: Series[];
  bounds: Bound[];
  bands: Band[];
  /** Of intervals and bars: what stands one below the other; a point's y says in which, counted from 0 downwards. */
  rows: Row[];
  heat: Heat | null;
  marks: Phase[];
  /** What a hollow mark is: `void`; empty: no more than doubtful. */
  hollow: string;
}

/** Who called whom; calls come before those within them, each as how many callers it has, its name, and samples of both loads. */
export interface Flame {
  id: string;
  title: string;
  note: string;
  name: string;
  beside_name: string | null;
  samples: number;
  beside: number;
  modules: string[];
  /** Name and module; -1: a thread. */
  names: [string, number][];
  calls: [number, number, number, number][];
}

export interface Section {
  id: string;
  title: string;
  texts: Text[];
  tables: Table[];
  charts: Chart[];
  flames?: Flame[];
}

export interface Phase {
  from: number;
  to: number;
  label: string;
  tone: Tone;
}

export interface Front {
  head: Head;
  verdict: Text[];
  chain: Station[];
  pictures: Chart[];
  doubts: Doubt[];
  sections: Section[];
  phases: Phase[];
}

export interface Column {
  id: string;
  values: (number | null)[];
  adds: boolean;
}

export interface Timeline {
  at: number[];
  columns: Column[];
}

export interface Document {
  schema: number;
  front: Front;
  timeline: Timeline;
}

/** What a search knows of its limit; what is not known is null. */
export interface Limit {
  held: number | null;
  lower: number | null;
  upper: number | null;
  unit: string;
}

/** How a run differs from the last one like it, in words. */
export interface Before {
  id: string;
  text: string;
  tone: Tone;
}

/** A run as the history lists it. */
export interface Listed {
  id: string;
  name: string;
  tags: string[];
  commit: string;
  command: string;
  target: string;
  machine: string;
  /** As understood, as TOML; empty if it is not known. */
  plan: string;
  verdict: string;
  verdict_tone: Tone;
  state: State;
  started_unix_ms: number;
  ended_unix_ms: number | null;
  limit: Limit | null;
  /** Runs with the same number can be compared without a doubt. */
  alike: number | null;
  before: Before | null;
}

/** Whether a chart runs along the run's own time, so that it shares its axis with the others. */
export function overTime(chart: Chart): boolean {
  return chart.x.unit === 'time';
}
