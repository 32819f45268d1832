/** A chart's figures as a table, for those who cannot or do not want to read the drawing. */

import { overTime, type Chart, type Phase, type Point, type Row, type Timeline, type Tone } from '../document';
import { format, joined } from '../format';
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

interface Column<T> {
  name: string;
  cell: (row: T) => string;
  /** Text, not figures. */
  text?: boolean;
  /** False: it is left out. */
  wanted?: boolean;
}

function figures<T>(columns: Column<T>[], rows: T[], left: number): Figures {
  const shown = columns.filter(({ wanted = true }) => wanted);
  return {
    head: shown.map(({ name }) => name),
    rows: rows.map((row) => shown.map(({ cell }) => cell(row))),
    text: shown.flatMap(({ text }, index) => (text ? index : [])),
    left,
  };
}

export function chartTable(chart: Chart, timeline: Timeline, phases: readonly Phase[]): Figures {
  if (chart.form === 'heat') return heatTable(chart);
  if (isAlong(chart) || chart.form === 'points') return pointTable(chart);
  const data = chartData(chart, timeline);
  const marks = data.x.map((_, row) => marksAt(chart.marks, data.from, row));
  const rows = thinRows([...data.values, marks.map((mark) => (mark === '' ? 0 : 1))], data.x.length, ROOM);
  return figures<number>(
    [
      { name: chart.x.name || 'x', cell: (row) => format(data.from[row], chart.x.unit) },
      ...chart.series.map(({ name }, index) => ({ name, cell: (row: number) => format(data.values[index]![row], chart.y.unit) })),
      { name: 'phase', cell: (row) => phaseAt(phases, data.x[row]!)?.label ?? '', text: true, wanted: overTime(chart) && phases.length > 0 },
      { name: 'mark', cell: (row) => marks[row]!, text: true, wanted: chart.marks.length > 0 },
    ],
    rows,
    data.x.length - rows.length,
  );
}

function pointTable(chart: Chart): Figures {
  const all = chart.series.flatMap((series, index) =>
    series.points.map((point) => {
      const row = rowOf(chart, point);
      const what = joined(', ', row?.name, point.label);
      // A row's outcome and notes are shown beside its value, not beside every underlying one.
      const of = index === 0 ? row : undefined;
      return { series: series.name, point, what, meaning: of?.word.text || word(point.tone, chart.hollow), note: of?.note ?? '' };
    }),
  );
  const along = isAlong(chart);
  const unit = along ? chart.x.unit : chart.y.unit;
  const kept = thinRows([all.map(({ point }) => (along ? point.x : point.y))], all.length, 4 * ROOM);
  const ranged = all.some(({ point }) => point.low !== null || point.high !== null);
  return figures(
    [
      { name: 'what', cell: ({ what }) => what, text: true, wanted: all.some(({ what }) => what !== '') },
      { name: 'series', cell: ({ series }) => series, text: true, wanted: chart.series.length > 1 },
      { name: chart.x.name || 'x', cell: ({ point }) => format(point.x, chart.x.unit) },
      { name: chart.y.name || 'y', cell: ({ point }) => format(point.y, chart.y.unit), wanted: !along },
      { name: 'interval', cell: ({ point }) => interval(point, unit), wanted: ranged },
      { name: 'meaning', cell: ({ meaning }) => meaning, text: true, wanted: all.some(({ meaning }) => meaning !== '') },
      { name: 'note', cell: ({ note }) => note, text: true, wanted: all.some(({ note }) => note !== '') },
    ],
    kept.map((index) => all[index]!),
    all.length - kept.length,
  );
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
