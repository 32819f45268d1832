/** From a document's content to what can be drawn: every series on one list of x positions. */

import { format } from '../format';
import { overTime, type Chart, type Document, type Heat, type Phase, type Point, type Timeline } from '../document';

/** A chart's figures, in rows. */
export interface Data {
  /** Rising; where two series points share an x, it is repeated. Over time, the middle of each row. */
  x: number[];
  /** Over time, the beginning of each row; elsewhere the same as `x`. */
  from: readonly number[];
  /** For each series, a value or null at each x. */
  values: (number | null)[][];
  /** The points themselves, for series with points of their own. */
  points: (Point | null)[][];
  /** All values come from the timeline: null means that nothing was measured. */
  measured: boolean;
}

export function chartData(chart: Chart, timeline: Timeline): Data {
  if (chart.form === 'heat') return heatData(chart.heat);
  const measured = chart.series.every((series) => series.column !== null && series.points.length === 0);
  if (!measured) return pointData(chart, timeline);
  const columns = new Map(timeline.columns.map((column) => [column.id, column.values]));
  const nothing: null[] = new Array(timeline.at.length).fill(null);
  const values = chart.series.map((series) => {
    const column = columns.get(series.column ?? '') ?? nothing;
    return chart.y.log ? positive(column) : column;
  });
  return { x: middles(timeline), from: timeline.at, values, points: chart.series.map(() => []), measured: true };
}

const halfways = new WeakMap<Timeline, number[]>();

/**
 * The middle of each row of a timeline: a row covers the time up to the next, so that events within it are drawn where they
 * happened, as are marks and phases. The last row's length is unknown, and taken to be that of the one before.
 */
export function middles(timeline: Timeline): number[] {
  const known = halfways.get(timeline);
  if (known?.length === timeline.at.length) return known;
  const { at } = timeline;
  const last = at.length - 1;
  const length = (row: number) => (row < last ? at[row + 1]! - at[row]! : last > 0 ? at[last]! - at[last - 1]! : 0);
  const found = at.map((from, row) => from + length(row) / 2);
  halfways.set(timeline, found);
  return found;
}

/** The middle of each column of a heat map; its cells are drawn from the map itself. */
function heatData(heat: Heat | null): Data {
  const x: number[] = [];
  for (let i = 0; heat && i + 1 < heat.x.length; i++) x.push((heat.x[i]! + heat.x[i + 1]!) / 2);
  return { x, from: heat?.x ?? [], values: [x.map(() => null)], points: [[]], measured: true };
}

function pointData(chart: Chart, timeline: Timeline): Data {
  const all: { x: number; series: number; turn: number; value: number | null; point: Point | null }[] = [];
  const columns = new Map(timeline.columns.map((column) => [column.id, column.values]));
  chart.series.forEach((series, index) => {
    for (const point of series.points) {
      if (chart.x.log && point.x <= 0) continue;
      all.push({ x: point.x, series: index, turn: 0, value: chart.y.log && point.y <= 0 ? null : point.y, point });
    }
    if (series.points.length === 0 && series.column !== null) {
      const column = columns.get(series.column) ?? [];
      column.forEach((value, row) => all.push({ x: middles(timeline)[row]!, series: index, turn: 0, value, point: null }));
    }
  });
  // At each x, the first point of every series comes before the second of any.
  all.sort((a, b) => a.x - b.x || a.series - b.series);
  all.forEach((one, index) => {
    const before = all[index - 1];
    one.turn = before && before.x === one.x && before.series === one.series ? before.turn + 1 : 0;
  });
  all.sort((a, b) => a.x - b.x || a.turn - b.turn || a.series - b.series);
  // One row for all series with a value at the same x; a second point of a series opens another.
  const rows: { x: number; at: Map<number, (typeof all)[number]> }[] = [];
  for (const one of all) {
    const last = rows.at(-1);
    if (last && last.x === one.x && !last.at.has(one.series)) last.at.set(one.series, one);
    else rows.push({ x: one.x, at: new Map([[one.series, one]]) });
  }
  const x = rows.map((row) => row.x);
  return {
    x,
    from: x,
    values: chart.series.map((_, index) => rows.map((row) => row.at.get(index)?.value ?? null)),
    points: chart.series.map((_, index) => rows.map((row) => row.at.get(index)?.point ?? null)),
    measured: false,
  };
}

/** A logarithmic axis has no place for values at or below zero. */
function positive(column: (number | null)[]): (number | null)[] {
  return column.map((value) => (value !== null && value > 0 ? value : null));
}

/** Each series stacked on those before it; hidden ones add nothing. */
export function stacked(values: (number | null)[][], hidden: ReadonlySet<number>): (number | null)[][] {
  const length = values[0]?.length ?? 0;
  const below = new Float64Array(length);
  const shown = values.filter((_, index) => !hidden.has(index));
  const gap = (row: number) => shown.every((column) => column[row] === null || column[row] === undefined);
  const gaps = Array.from({ length }, (_, row) => gap(row));
  return values.map((column, index) => {
    const top: (number | null)[] = new Array(length);
    for (let row = 0; row < length; row++) {
      if (!hidden.has(index)) below[row]! += column[row] ?? 0;
      top[row] = gaps[row] ? null : below[row]!;
    }
    return top;
  });
}

/** The row to read for a series at an x: the nearest with a value; the row itself if there is none. */
export function nearestRow(values: readonly (number | null)[], row: number): number {
  for (let away = 0; away < values.length; away++) {
    if (hasValue(values, row - away)) return row - away;
    if (hasValue(values, row + away)) return row + away;
  }
  return row;
}

function hasValue(values: readonly (number | null)[], row: number): boolean {
  return values[row] !== null && values[row] !== undefined;
}

/** The phase at a time; of two that overlap, the later. */
export function phaseAt(phases: readonly Phase[], at: number): Phase | null {
  return phases.findLast((phase) => at >= phase.from && at <= phase.to) ?? null;
}

/** The marks of a row, given where each row begins: what happened between it and the next. */
export function marksAt(marks: readonly Phase[], begins: readonly number[], row: number): string {
  const from = begins[row]!;
  const to = begins[row + 1] ?? from + 1;
  return marks
    .filter((mark) => mark.from < to && mark.to > from)
    .map((mark) => `${mark.label} for ${format(mark.to - mark.from, 'seconds')}`)
    .join(', ');
}

/** From the start of the run to the end of any chart over time, so that all share one axis. */
export function timeRange(document: Document): [number, number] {
  let last = middles(document.timeline).at(-1) ?? 0;
  let first = Math.min(0, document.timeline.at[0] ?? 0);
  const include = (at: number) => {
    last = Math.max(last, at);
    first = Math.min(first, at);
  };
  for (const phase of document.front.phases) include(phase.to);
  for (const section of document.front.sections) {
    for (const chart of section.charts) {
      if (!overTime(chart)) continue;
      for (const series of chart.series) for (const point of series.points) include(point.x);
      for (const edge of chart.heat?.x ?? []) include(edge);
    }
  }
  return last > first ? [first, last] : [first, first + 1];
}

/** Summary of a column of a heat map. */
export interface HeatColumn {
  total: number;
  /** The fullest cell; −1 if all are empty. */
  most: number;
  /** The lowest and the highest non-empty cell. */
  lowest: number;
  highest: number;
}

export function heatColumn(heat: Heat, column: number): HeatColumn {
  const height = heat.y.length - 1;
  const found: HeatColumn = { total: 0, most: -1, lowest: -1, highest: -1 };
  for (let row = 0; row < height; row++) {
    const count = heat.counts[column * height + row] ?? 0;
    if (count === 0) continue;
    found.total += count;
    if (found.most < 0 || count > heat.counts[column * height + found.most]!) found.most = row;
    if (found.lowest < 0) found.lowest = row;
    found.highest = row;
  }
  return found;
}

/** The index of the cell between rising edges that contains a value; −1 outside. */
export function cellOf(edges: readonly number[], value: number): number {
  for (let i = 0; i + 1 < edges.length; i++) if (value >= edges[i]! && value < edges[i + 1]!) return i;
  return -1;
}
