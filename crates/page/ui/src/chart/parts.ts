/** The rows of a bar chart, and the range of its axis. */

import type { Chart, Point, Row } from '../document';
import { rowOf } from './table';

export interface BarRow {
  row: Row;
  /** Null where its value has no place on the axis. */
  value: Point | null;
  /** What it should come to. */
  parts: Part[];
}

export interface Part {
  point: Point;
  from: number;
  to: number;
}

/** The content of each row: its value, and its parts stacked from zero. */
export function barRows(chart: Chart): BarRow[] {
  const of = (series: number, row: Row) => chart.series[series]?.points.filter((point) => rowOf(chart, point) === row) ?? [];
  return chart.rows.map((row) => {
    let from = 0;
    const parts = of(1, row).map((point) => {
      const part = { point, from, to: from + point.x };
      from = part.to;
      return part;
    });
    return { row, value: of(0, row)[0] ?? null, parts };
  });
}

/** From zero; on a logarithmic axis from half the minimum, so that it is visible. */
export function barRange(chart: Chart, rows: readonly BarRow[]): [number, number] {
  const points = rows.flatMap(({ value }) => (value ? [value] : []));
  const ends = [
    ...points.flatMap((point) => [point.x, point.low ?? point.x, point.high ?? point.x]),
    ...rows.flatMap(({ parts }) => parts.slice(-1).map((part) => part.to)),
  ];
  const { log } = chart.x;
  const all = [...ends, log ? Math.min(...points.map((point) => point.x)) / 2 : 0].filter((end) => !log || end > 0);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  if (!(most > least)) return log ? [1, 10] : [0, 1];
  return log ? [least, most * (most / least) ** 0.03] : [least < 0 ? least * 1.05 : 0, most * 1.05];
}
