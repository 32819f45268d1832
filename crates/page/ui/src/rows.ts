/** The timeline of a live run: rows come in pieces, and may all be sent again. */

import type { Timeline } from './document';

/** The server's `rows` event. */
export interface Rows {
  /** A new one invalidates what was held before, since rows were merged. */
  generation: number;
  /** Index of the first row. */
  from: number;
  timeline: Timeline;
}

/** What the page holds. */
export interface Held {
  /** Unknown while the timeline is the one of the whole document. */
  generation: number | null;
  timeline: Timeline;
}

/**
 * What the page holds after `rows`; null if rows are missing in between, and everything must be requested again. Columns grow in
 * place, since copying them every second would dominate a long run; the timeline object is new, so that those who draw it notice
 * the change.
 */
export function withRows(held: Held, rows: Rows): Held | null {
  const { generation, from } = rows;
  if (from === 0) return { generation, timeline: rows.timeline };
  if (held.generation !== null && held.generation !== generation) return { generation, timeline: rows.timeline };
  if (from > held.timeline.at.length) return null;
  return { generation, timeline: appended(held.timeline, from, rows.timeline) };
}

function appended(held: Timeline, from: number, more: Timeline): Timeline {
  held.at.length = from;
  push(held.at, more.at);
  const columns = [...held.columns];
  const place = new Map(columns.map((column, index) => [column.id, index]));
  for (const column of more.columns) {
    const index = place.get(column.id);
    if (index === undefined) {
      // Not measured before.
      columns.push({ ...column, values: [...new Array<null>(from).fill(null), ...column.values] });
    } else {
      const values = columns[index]!.values;
      values.length = from;
      push(values, column.values);
    }
  }
  for (const column of columns) {
    while (column.values.length < held.at.length) column.values.push(null);
  }
  return { at: held.at, columns };
}

function push<T>(all: T[], more: readonly T[]): void {
  for (const one of more) all.push(one);
}
