/** Light or dark: as the system prefers, unless the reader chose; always light on paper. */

import { palette, type Scheme } from './palette';

export type Choice = 'auto' | Scheme;

const KEY = 'torment.theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
let choice: Choice = remembered();
let paper = false;

export function scheme(): Scheme {
  if (paper) return 'light';
  return choice === 'auto' ? (system.matches ? 'dark' : 'light') : choice;
}

export function chosen(): Choice {
  return choice;
}

export function choose(next: Choice): void {
  choice = next;
  try {
    if (next === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // A page from a file may have no storage: the choice then lasts until it is closed.
  }
  apply();
}

/** Light while the page is being printed. */
export function onPaper(printing: boolean): void {
  if (paper === printing) return;
  paper = printing;
  apply();
}

/** Calls `listener` whenever colours change; returns a function that unsubscribes. */
export function onScheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Sets the style sheet's colours, and notifies those who draw by hand. */
export function apply(): void {
  const root = document.documentElement;
  const now = scheme();
  const { series: _, ramp: __, ...colours } = palette(now);
  for (const [name, colour] of Object.entries(colours)) root.style.setProperty(`--${name}`, colour);
  root.style.colorScheme = now;
  root.dataset.scheme = now;
  for (const listener of listeners) listener();
}

function remembered(): Choice {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : 'auto';
  } catch {
    return 'auto';
  }
}

system.addEventListener('change', apply);
