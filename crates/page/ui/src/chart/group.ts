/** Charts that show the same stretch: whoever zooms one zooms all. */

export type Range = [number, number];

export class Group {
  /** Charts of one group follow each other's cursor by this name. */
  readonly key: string;
  /** All there is; null: each chart takes its own. */
  full: Range | null;
  private zoomed: Range | null = null;
  private listeners = new Set<() => void>();

  constructor(key: string, full: Range | null) {
    this.key = key;
    this.full = full;
  }

  /** What is shown of it; null: all. */
  get range(): Range | null {
    return this.zoomed;
  }

  /** Shows a part, or all again. A part outside of what there is or without any width is left alone. */
  zoom(range: Range | null): void {
    if (range && !(range[1] > range[0])) return;
    if (range === null && this.zoomed === null) return;
    this.zoomed = range;
    for (const listener of [...this.listeners]) listener();
  }

  /** Calls `listener` whenever another part is shown; returns how to end that. */
  onZoom(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
