/** Which page an address refers to, and which part of the run it shows: everything after the `#`. */

import type { Range } from './chart/group';

export type Route =
  | { page: 'history' }
  | { page: 'run'; id: string }
  | { page: 'compare'; ids: string[] }
  | { page: 'unknown'; hash: string };

export function routeOf(hash: string): Route {
  const parts = pathOf(hash).replace(/^#\/?/, '').split('/').filter((part) => part !== '');
  const [page, rest] = parts;
  if (page === undefined) return { page: 'history' };
  if (parts.length === 2 && rest !== undefined) {
    if (page === 'runs') return { page: 'run', id: plain(rest) };
    if (page === 'compare') return { page: 'compare', ids: rest.split(',').filter((id) => id !== '').map(plain) };
  }
  return { page: 'unknown', hash };
}

/** The hash without the range. */
function pathOf(hash: string): string {
  return hash.split('?')[0]!;
}

/** The time range that charts show, if the address has one: `…?from=12.5&to=34`, in seconds. */
export function rangeOf(hash: string): Range | null {
  const asked = new URLSearchParams(hash.slice(pathOf(hash).length));
  const at = (name: string) => Number.parseFloat(asked.get(name) ?? '');
  const [from, to] = [at('from'), at('to')];
  return from < to ? [from, to] : null;
}

/** The same address with another range; to the millisecond. */
export function withRange(hash: string, range: Range | null): string {
  const path = pathOf(hash);
  if (range === null) return path === '#' ? '' : path;
  const [from, to] = range.map((at) => Math.round(at * 1000) / 1000);
  return `${path || '#'}?from=${from}&to=${to}`;
}

/**
 * The address of what is shown, to share: of a run by its own id, whatever id was requested, with the range shown. The token
 * opens everything here to whoever has it, and is left out; `bare` says that there was one.
 */
export function linkOf(href: string, id: string, range: Range | null): { link: string; bare: boolean } {
  const url = new URL(href);
  const bare = url.searchParams.has('token');
  url.searchParams.delete('token');
  const path = routeOf(url.hash).page === 'run' && id !== '' ? `#/runs/${encodeURIComponent(id)}` : url.hash;
  url.hash = withRange(path, range);
  return { link: url.href, bare };
}

/** Decoded; malformed escapes stay as they are. */
function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
