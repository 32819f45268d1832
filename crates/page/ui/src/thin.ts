/** Fewer rows that still represent the whole: for tables, as nobody reads a thousand rows. */

/**
 * Indices of the rows to show, rising, at most about `room` of them: the first, the last, each column's minimum and maximum, and
 * between those, rows at even distances.
 */
export function thinRows(columns: readonly (readonly (number | null)[])[], length: number, room: number): number[] {
  if (length <= room) return Array.from({ length }, (_, i) => i);
  const kept = new Set<number>([0, length - 1]);
  for (const column of columns) {
    if (kept.size >= room) break;
    const [least, most] = extremes(column);
    if (least >= 0) kept.add(least);
    if (most >= 0) kept.add(most);
  }
  const left = Math.max(0, room - kept.size);
  for (let i = 1; i <= left; i++) kept.add(Math.round((i * (length - 1)) / (left + 1)));
  return [...kept].sort((a, b) => a - b);
}

/** The indices of the minimum and the maximum, the first of each; −1 if there is none. */
function extremes(column: readonly (number | null)[]): [number, number] {
  let least = -1;
  let most = -1;
  for (let i = 0; i < column.length; i++) {
    const value = column[i];
    if (value === null || value === undefined) continue;
    if (least < 0 || value < (column[least] as number)) least = i;
    if (most < 0 || value > (column[most] as number)) most = i;
  }
  return [least, most];
}
