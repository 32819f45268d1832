/** A flame graph as figures: the position of each call, and search. */

import type { Flame } from './document';

/** What is drawn: samples of the first load, of the other, or how the first's shares differ from the other's. */
export type Side = 'first' | 'beside' | 'difference';

export interface Call {
  at: number;
  depth: number;
  name: string;
  /** -1: a thread. */
  module: number;
  samples: number;
  beside: number;
  caller: number | null;
  callees: number[];
}

export interface Box {
  call: Call;
  /** Left edge, as a share of the width. */
  from: number;
  share: number;
}

/** The calls of a flame graph; calls without a caller or a name are left out. */
export function calls(flame: Flame): Call[] {
  const all: Call[] = [];
  const above: Call[] = [];
  for (const [depth, number, samples, beside] of flame.calls) {
    const name = flame.names[number];
    if (name === undefined || depth > above.length) continue;
    above.length = depth;
    const caller = above[depth - 1] ?? null;
    const call: Call = { at: all.length, depth, name: name[0], module: name[1], samples, beside, caller: caller?.at ?? null, callees: [] };
    caller?.callees.push(call.at);
    all.push(call);
    above.push(call);
  }
  return all;
}

/** How wide a call is. */
export function weight(call: Call, side: Side): number {
  return side === 'beside' ? call.beside : call.samples;
}

/** By what share of all samples a call has more in the first load than in the other. */
export function more(call: Call, flame: Flame): number {
  return call.samples / Math.max(1, flame.samples) - call.beside / Math.max(1, flame.beside);
}

/** The visible boxes: the zoomed call and its callers at full width, and what it calls. */
export function boxes(all: Call[], flame: Flame, side: Side, zoomed: number | null, least: number): Box[] {
  const whole = zoomed === null ? (side === 'beside' ? flame.beside : flame.samples) : weight(all[zoomed]!, side);
  const found: Box[] = [];
  for (let at = zoomed === null ? null : all[zoomed]!.caller; at !== null; at = all[at]!.caller) {
    found.push({ call: all[at]!, from: 0, share: 1 });
  }
  const lay = (inner: number[], from: number) => {
    for (const at of inner) {
      const share = weight(all[at]!, side) / Math.max(1, whole);
      if (share < least) continue;
      found.push({ call: all[at]!, from, share });
      lay(all[at]!.callees, from);
      from += share;
    }
  };
  lay(zoomed === null ? all.filter(({ caller }) => caller === null).map(({ at }) => at) : [zoomed], 0);
  return found;
}

/** The calls whose function contains these letters, and the samples in any of them. */
export function search(all: Call[], letters: string, side: Side): { found: Set<number>; samples: number } {
  const wanted = letters.trim().toLowerCase();
  const found = new Set<number>();
  const within = new Set<number>();
  let samples = 0;
  if (wanted === '') return { found, samples };
  for (const call of all) {
    const is = call.name.toLowerCase().includes(wanted);
    if (is) found.add(call.at);
    const counted = call.caller !== null && within.has(call.caller);
    if (is && !counted) samples += weight(call, side);
    if (is || counted) within.add(call.at);
  }
  return { found, samples };
}

/** The target of an arrow key: the caller, the largest callee, or the neighbour with the same caller. */
export function neighbour(all: Call[], at: number, key: string, side: Side): number | null {
  const call = all[at];
  if (call === undefined) return null;
  const seen = (inner: number[]) => inner.filter((one) => weight(all[one]!, side) > 0);
  if (key === 'ArrowUp') return call.caller;
  if (key === 'ArrowDown') {
    return seen(call.callees).reduce<number | null>((most, one) => (most === null || weight(all[one]!, side) > weight(all[most]!, side) ? one : most), null);
  }
  const level = seen(call.caller === null ? all.filter(({ caller }) => caller === null).map(({ at }) => at) : all[call.caller]!.callees);
  const next = level.indexOf(at) + (key === 'ArrowRight' ? 1 : -1);
  return level[next] ?? null;
}
