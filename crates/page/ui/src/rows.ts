/** The timeline of a run that goes on: rows come in pieces, and all that was ever sent may be sent anew. */

import type { Timeline } from './document';

/** What the server sends as `rows`. */
export interface Rows {
  /** Another one: what was held before no longer counts, since rows were joined. */
  generation: number;
  /** The first row's place. */
  from: number;
  timeline: Timeline;
}

/** What the page holds. */
export interface Held {
  /** Not known as long as the timeline came with the whole document. */
  generation: number | null;
  timeline: Timeline;
}

/**
 * What the page holds after `rows`; nothing if rows are missing in between, and all has to be asked for anew. The held columns
 * grow in place, since copying them every second is all that a long run would do; the timeline itself is a new one, so that
 * whoever draws it sees that it changed.
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
      // Something that nobody had measured before.
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
