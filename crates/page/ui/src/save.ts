/** Files made from what the page holds, without a server. */

import type { Document } from './document';

/** Where a page looks for embedded data. */
const PLACES = { document: 'id="document">', picture: 'id="picture">' };

/** The page's source, before anything was drawn. */
let page = '';

/** Call before anything is drawn. */
export function keepPage(): void {
  page = window.document.documentElement.outerHTML;
}

/** A page that shows the document without a server, as `torment report` writes it. */
export function frozen(document: Document, picture: string | null): string {
  return `<!doctype html>\n${withHeld(page, document, picture)}\n`;
}

export function withHeld(page: string, document: Document, picture: string | null): string {
  const put = (page: string, place: string, value: unknown) =>
    page.replace(`${place}null<`, () => `${place}${harmless(JSON.stringify(value))}<`);
  return put(put(page, PLACES.document, document), PLACES.picture, picture);
}

/** Escaped for a script element: no text in it can end the element or begin a comment. */
function harmless(json: string): string {
  return json.replaceAll('<', '\\u003c');
}

/** The data embedded at one of its places, as text; empty if the page is to ask its server. */
export function held(place: keyof typeof PLACES): string {
  const text = window.document.getElementById(place)?.textContent?.trim() ?? '';
  return text === 'null' ? '' : text;
}

/** The embedded picture. */
export function heldPicture(): string | null {
  try {
    const picture: unknown = JSON.parse(held('picture') || 'null');
    return typeof picture === 'string' ? picture : null;
  } catch {
    return null;
  }
}

/** A run's file name, safe for any id. */
export function fileName(id: string, ending: string): string {
  return `run-${id.replace(/[^A-Za-z0-9_-]/g, '_')}.${ending}`;
}

/** Long enough for any browser to start the download. */
const KEPT_MS = 60_000;

/** Offers a file for download. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = window.document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
