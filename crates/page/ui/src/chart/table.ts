/** A chart's figures as a table, for those who cannot or do not want to read the drawing. */

import type { Chart, Phase, Point, Row, Timeline, Tone } from '../document';
import { format } from '../format';
import { thinRows } from '../thin';
import { chartData, heatColumn, marksAt, phaseAt } from './data';

/** Maximum number of rows that people look through. */
const ROOM = 60;

export interface Figures {
  head: string[];
  rows: string[][];
  /** Columns of text. */
  text: number[];
  /** Rows of the chart that are not in the table. */
  left: number;
}

export function chartTable(chart: Chart, timeline: Timeline, phases: readonly Phase[]): Figures {
  if (chart.form === 'heat') return heatTable(chart);
  if (isAlong(chart) || chart.form === 'points') return pointTable(chart);
  const data = chartData(chart, timeline);
  const marks = data.x.map((_, row) => marksAt(chart.marks, data.from, row));
  const rows = thinRows([...data.values, marks.map((mark) => (mark === '' ? 0 : 1))], data.x.length, ROOM);
  const within = chart.x.unit === 'time' && phases.length > 0;
  const marked = chart.marks.length > 0;
  return {
    head: [
      chart.x.name || 'x',
      ...chart.series.map((series) => series.name),
      ...(within ? ['phase'] : []),
      ...(marked ? ['mark'] : []),
    ],
    rows: rows.map((row) => [
      format(data.from[row], chart.x.unit),
      ...data.values.map((values) => format(values[row], chart.y.unit)),
      ...(within ? [phaseAt(phases, data.x[row]!)?.label ?? ''] : []),
      ...(marked ? [marks[row]!] : []),
    ]),
    text: [within, marked].filter((there) => there).map((_, index) => chart.series.length + 1 + index),
    left: data.x.length - rows.length,
  };
}

function pointTable(chart: Chart): Figures {
  const all = chart.series.flatMap((series, index) =>
    series.points.map((point) => {
      const row = rowOf(chart, point);
      const what = [row?.name ?? '', point.label].filter((part) => part !== '').join(', ');
      // A row's outcome and notes are shown beside its value, not beside every underlying one.
      const of = index === 0 ? row : undefined;
      return { series: series.name, point, what, meaning: of?.word.text || word(point.tone, chart.hollow), note: of?.note ?? '' };
    }),
  );
  const several = chart.series.length > 1;
  const named = all.some(({ what }) => what !== '');
  const ranged = all.some(({ point }) => point.low !== null || point.high !== null);
  const meant = all.some(({ meaning }) => meaning !== '');
  const noted = all.some(({ note }) => note !== '');
  const along = isAlong(chart);
  const unit = along ? chart.x.unit : chart.y.unit;
  const kept = thinRows([all.map(({ point }) => (along ? point.x : point.y))], all.length, 4 * ROOM);
  const head: string[] = [];
  const text: number[] = [];
  const add = (wanted: boolean, name: string, isText: boolean) => {
    if (!wanted) return;
    if (isText) text.push(head.length);
    head.push(name);
  };
  add(named, 'what', true);
  add(several, 'series', true);
  add(true, chart.x.name || 'x', false);
  add(!along, chart.y.name || 'y', false);
  add(ranged, 'interval', false);
  add(meant, 'meaning', true);
  add(noted, 'note', true);
  const rows = kept.map((index) => {
    const { series, point, what, meaning, note } = all[index]!;
    return [
      ...(named ? [what] : []),
      ...(several ? [series] : []),
      format(point.x, chart.x.unit),
      ...(along ? [] : [format(point.y, chart.y.unit)]),
      ...(ranged ? [interval(point, unit)] : []),
      ...(meant ? [meaning] : []),
      ...(noted ? [note] : []),
    ];
  });
  return { head, rows, text, left: all.length - rows.length };
}

function heatTable(chart: Chart): Figures {
  const heat = chart.heat ?? { x: [], y: [], counts: [] };
  const columns = Array.from({ length: Math.max(0, heat.x.length - 1) }, (_, column) => heatColumn(heat, column));
  const kept = thinRows(
    [columns.map((column) => column.total), columns.map((column) => column.highest)],
    columns.length,
    ROOM,
  );
  const cell = (row: number) =>
    row < 0 ? '–' : `${format(heat.y[row], chart.y.unit)} – ${format(heat.y[row + 1], chart.y.unit)}`;
  return {
    head: [chart.x.name || 'x', 'how many', 'lowest', 'most', 'highest'],
    rows: kept.map((index) => {
      const { total, lowest, most, highest } = columns[index]!;
      const from = format(heat.x[index], chart.x.unit);
      return [from, format(total, 'count'), cell(lowest), cell(most), cell(highest)];
    }),
    text: [],
    left: columns.length - kept.length,
  };
}

/** Whether values lie along x, in rows from top to bottom. */
export function isAlong(chart: Chart): boolean {
  return chart.form === 'intervals' || chart.form === 'bars';
}

/** The row of a point in a chart of intervals or bars. */
export function rowOf(chart: Chart, point: Point): Row | undefined {
  return chart.rows[Math.round(point.y)];
}

/** `1.2 ms – 1.5 ms`, or `1.2 ms or more`; empty if it has none. */
export function interval({ low, high }: Point, unit: Chart['y']['unit']): string {
  if (low !== null && high !== null) {
    const [from, to] = [format(low, unit), format(high, unit)];
    // An interval narrower than the displayed digits says nothing.
    return from === to ? '' : `${from} – ${to}`;
  }
  if (low !== null) return `${format(low, unit)} or more`;
  return high === null ? '' : `${format(high, unit)} or less`;
}

/** The word for a tone that is a judgement; some charts have their own word for hollow marks. */
export function word(tone: Tone, hollow: string): string {
  return tone === 'good' ? 'good' : tone === 'bad' ? 'bad' : tone === 'warn' ? hollow || 'doubtful' : '';
}
