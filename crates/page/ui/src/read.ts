/**
 * Reads whatever came as JSON into the nouns of the page. Nothing is taken on trust: a document of a newer torment, or one
 * that lost a part, still shows whatever can be read.
 */

import {
  FORMS,
  ROLES,
  SCHEMA,
  STATES,
  TONES,
  UNITS,
  type Axis,
  type Band,
  type Before,
  type Bound,
  type Chart,
  type Column,
  type Document,
  type Doubt,
  type Front,
  type Flame,
  type Full,
  type Head,
  type Heat,
  type Limit,
  type Listed,
  type NamedRole,
  type Phase,
  type Piece,
  type Point,
  type Role,
  type Row,
  type Section,
  type Series,
  type Station,
  type Table,
  type Text,
  type Timeline,
} from './document';

type Loose = Record<string, unknown>;

/** What was read, and what the reader should know of it. */
export interface Read {
  document: Document;
  /** Said above the page; empty if all is well. */
  notes: string[];
}

/** A document from JSON; nothing if it is not one at all. */
export function readDocument(value: unknown): Read | null {
  if (!isObject(value) || !isObject(value.front)) return null;
  const schema = number(value.schema, 0);
  const document = { schema, front: readFront(value.front), timeline: readTimeline(value.timeline) };
  const notes: string[] = [];
  if (schema > SCHEMA) {
    notes.push(
      `This document has format ${schema}, written by torment ${document.front.head.version || 'of a newer version'}; ` +
        `this page knows formats up to ${SCHEMA}. What it can read is shown; parts may be missing: ` +
        'open it with the torment that wrote it.',
    );
  }
  return { document, notes };
}

export function readFront(value: unknown): Front {
  const from = object(value);
  return {
    head: readHead(from.head),
    verdict: list(from.verdict, readText),
    chain: list(from.chain, readStation),
    pictures: list(from.pictures, readChart),
    doubts: list(from.doubts, readDoubt),
    // Without a heading nobody would find it.
    sections: list(from.sections, readSection).filter((section) => section.title !== ''),
    phases: list(from.phases, readPhase).filter((phase) => phase.to >= phase.from),
  };
}

/** A timeline whose columns are all as long as its times, whatever was sent. */
export function readTimeline(value: unknown): Timeline {
  const from = object(value);
  const at = list(from.at, (one) => number(one, 0));
  const columns = list(from.columns, (one): Column => {
    const column = object(one);
    const values = Array.isArray(column.values) ? column.values : [];
    const checked: (number | null)[] = new Array(at.length);
    for (let i = 0; i < at.length; i++) checked[i] = numberOrNull(values[i]);
    return { id: string(column.id), values: checked, adds: column.adds === true };
  });
  return { at, columns };
}

/** The runs of a history. */
export function readHistory(value: unknown): Listed[] {
  const from = object(value);
  const plans = object(from.plans);
  return list(from.runs, (one): Listed => {
    const run = object(one);
    return {
      id: string(run.id),
      name: string(run.name),
      tags: list(run.tags, string).filter((tag) => tag !== ''),
      commit: string(run.commit),
      command: string(run.command),
      target: string(run.target),
      machine: string(run.machine),
      plan: string(plans[string(run.alike)]),
      verdict: string(run.verdict),
      verdict_tone: oneOf(TONES, run.verdict_tone, 'plain'),
      state: oneOf(STATES, run.state, 'ended'),
      started_unix_ms: number(run.started_unix_ms, 0),
      ended_unix_ms: numberOrNull(run.ended_unix_ms),
      limit: isObject(run.limit) ? readLimit(run.limit) : null,
      alike: numberOrNull(run.alike),
      before: isObject(run.before) ? readBefore(run.before) : null,
    };
  }).filter((run) => run.id !== '');
}

function readLimit(from: Loose): Limit {
  return { held: numberOrNull(from.held), lower: numberOrNull(from.lower), upper: numberOrNull(from.upper), unit: string(from.unit) };
}

function readBefore(from: Loose): Before {
  return { id: string(from.id), text: string(from.text), tone: oneOf(TONES, from.tone, 'plain') };
}

function readHead(value: unknown): Head {
  const from = object(value);
  return {
    id: string(from.id),
    name: string(from.name),
    command: string(from.command),
    target: string(from.target),
    goal: string(from.goal),
    version: string(from.version),
    started_unix_ms: number(from.started_unix_ms, 0),
    ended_unix_ms: numberOrNull(from.ended_unix_ms),
    state: oneOf(STATES, from.state, 'ended'),
    machine: string(from.machine),
    now: typeof from.now === 'string' && from.now !== '' ? from.now : null,
    again: stringOrNull(from.again),
  };
}

function readStation(value: unknown): Station {
  const from = object(value);
  return {
    name: string(from.name),
    facts: list(from.facts, readText),
    well: isObject(from.well) ? readFull(from.well) : null,
    degraded: isObject(from.degraded) ? readFull(from.degraded) : null,
    section: stringOrNull(from.section),
    tone: oneOf(TONES, from.tone, 'plain'),
  };
}

function readFull(from: Loose): Full {
  return {
    in_use: stringOrNull(from.in_use),
    share: numberOrNull(from.share),
    stay: stringOrNull(from.stay),
    waiting: stringOrNull(from.waiting),
  };
}

function readDoubt(value: unknown): Doubt {
  const from = object(value);
  return { text: string(from.text), section: stringOrNull(from.section) };
}

function readSection(value: unknown): Section {
  const from = object(value);
  return {
    id: string(from.id),
    title: string(from.title) || string(from.id),
    texts: list(from.texts, readText),
    tables: list(from.tables, readTable),
    charts: list(from.charts, readChart),
    ...(Array.isArray(from.flames) && { flames: list(from.flames, readFlame) }),
  };
}

function readFlame(value: unknown): Flame {
  const from = object(value);
  const numbers = (one: unknown) => list(one, (n) => number(n, 0));
  return {
    id: string(from.id),
    title: string(from.title),
    note: string(from.note),
    name: string(from.name),
    beside_name: stringOrNull(from.beside_name),
    samples: number(from.samples, 0),
    beside: number(from.beside, 0),
    modules: list(from.modules, string),
    names: list(from.names, (one): [string, number] => (Array.isArray(one) ? [string(one[0]), number(one[1], -1)] : ['', -1])),
    calls: list(from.calls, (one): [number, number, number, number] => {
      const [depth = 0, name = -1, samples = 0, beside = 0] = numbers(one);
      return [depth, name, samples, beside];
    }),
  };
}

function readText(value: unknown): Text {
  return list(value, readPiece);
}

function readPiece(value: unknown): Piece {
  const from = object(value);
  return { text: string(from.text), tone: oneOf(TONES, from.tone, 'plain') };
}

function readTable(value: unknown): Table {
  const from = object(value);
  return {
    title: string(from.title),
    head: list(from.head, string),
    rows: list(from.rows, readText),
    text: list(from.text, (one) => number(one, -1)),
    runs: list(from.runs, (one) => (typeof one === 'string' ? one : null)),
  };
}

function readChart(value: unknown): Chart {
  const from = object(value);
  return {
    id: string(from.id),
    title: string(from.title),
    note: string(from.note),
    form: oneOf(FORMS, from.form, 'lines'),
    x: readAxis(from.x),
    y: readAxis(from.y),
    series: list(from.series, readSeries),
    bounds: list(from.bounds, readBound).filter((bound) => Number.isFinite(bound.at)),
    bands: list(from.bands, readBand),
    rows: list(from.rows, readRow),
    heat: isObject(from.heat) ? readHeat(from.heat) : null,
    marks: list(from.marks, readPhase).filter((mark) => mark.to >= mark.from),
    hollow: string(from.hollow),
  };
}

function readAxis(value: unknown): Axis {
  const from = object(value);
  return { name: string(from.name), unit: oneOf(UNITS, from.unit, 'count'), log: from.log === true };
}

function readSeries(value: unknown): Series {
  const from = object(value);
  return {
    name: string(from.name),
    role: readRole(from.role),
    column: typeof from.column === 'string' ? from.column : null,
    points: list(from.points, readPoint).filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y)),
  };
}

function readRole(value: unknown): Role {
  if (isObject(value)) return { nth: Math.max(0, Math.floor(number(value.nth, 0))) };
  return oneOf<NamedRole | 'unknown'>(ROLES, value, 'unknown') === 'unknown' ? { nth: 0 } : (value as NamedRole);
}

function readPoint(value: unknown): Point {
  const from = object(value);
  return {
    x: number(from.x, Number.NaN),
    y: number(from.y, Number.NaN),
    low: numberOrNull(from.low),
    high: numberOrNull(from.high),
    label: string(from.label),
    tone: oneOf(TONES, from.tone, 'plain'),
  };
}

function readBound(value: unknown): Bound {
  const from = object(value);
  return {
    name: string(from.name),
    at: number(from.at, Number.NaN),
    along_x: from.along_x === true,
    tone: oneOf(TONES, from.tone, 'plain'),
  };
}

function readBand(value: unknown): Band {
  const from = object(value);
  return {
    name: string(from.name),
    means: string(from.means),
    from: numberOrNull(from.from),
    to: numberOrNull(from.to),
    tone: oneOf(TONES, from.tone, 'plain'),
  };
}

function readRow(value: unknown): Row {
  const from = object(value);
  return { name: string(from.name), note: string(from.note), word: readPiece(from.word) };
}

function readHeat(from: Loose): Heat {
  const numbers = (value: unknown) => list(value, (one) => number(one, 0));
  return { x: numbers(from.x), y: numbers(from.y), counts: numbers(from.counts) };
}

function readPhase(value: unknown): Phase {
  const from = object(value);
  return {
    from: number(from.from, 0),
    to: number(from.to, -1),
    label: string(from.label),
    tone: oneOf(TONES, from.tone, 'plain'),
  };
}

function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function object(value: unknown): Loose {
  return isObject(value) ? value : {};
}

function list<T>(value: unknown, read: (one: unknown) => T): T[] {
  return Array.isArray(value) ? value.map((one) => read(one)) : [];
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function number(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function oneOf<T extends string>(known: readonly T[], value: unknown, otherwise: T): T {
  return known.includes(value as T) ? (value as T) : otherwise;
}
