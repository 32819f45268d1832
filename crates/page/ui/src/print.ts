/** On paper a chart has a fixed width and no cursor, and charts never scrolled into view are drawn too. */

import { onPaper } from './theme';

/** The width that fits on A4 or letter paper, in CSS pixels. */
export const PRINT_WIDTH = 660;

const listeners = new Set<(printing: boolean) => void>();
let now = false;

/** Calls `listener` when printing begins and ends; returns a function that unsubscribes. */
export function onPrint(listener: (printing: boolean) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function isPrinting(): boolean {
  return now;
}

function set(printing: boolean): void {
  if (printing === now) return;
  now = printing;
  onPaper(printing);
  for (const listener of [...listeners]) listener(printing);
}

/** Detects printing; browsers signal it in one of two ways, or both. */
export function watchPrint(): void {
  window.addEventListener('beforeprint', () => set(true));
  window.addEventListener('afterprint', () => set(false));
  window.matchMedia('print').addEventListener('change', (event) => set(event.matches));
}
