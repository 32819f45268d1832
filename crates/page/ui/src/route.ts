/** Which page an address means: all after the `#`. */

export type Route =
  | { page: 'history' }
  | { page: 'run'; id: string }
  | { page: 'compare'; ids: string[] }
  | { page: 'unknown'; hash: string };

export function routeOf(hash: string): Route {
  const parts = hash.replace(/^#\/?/, '').split('/').filter((part) => part !== '');
  const [page, rest] = parts;
  if (page === undefined) return { page: 'history' };
  if (parts.length === 2 && rest !== undefined) {
    if (page === 'runs') return { page: 'run', id: plain(rest) };
    if (page === 'compare') return { page: 'compare', ids: rest.split(',').filter((id) => id !== '').map(plain) };
  }
  return { page: 'unknown', hash };
}

/** As it was before it was made fit for an address; what nobody made so stays as it is. */
function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
