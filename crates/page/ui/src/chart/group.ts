/** Charts that show the same range: zooming one zooms all. */

export type Range = [number, number];

export class Group {
  private zoomed: Range | null = null;
  private listeners = new Set<() => void>();

  constructor(
    /** Charts of one group synchronise their cursors under this key. */
    readonly key: string,
    /** The full range; null: each chart uses its own. */
    public full: Range | null,
  ) {}

  /** The visible range; null: everything. */
  get range(): Range | null {
    return this.zoomed;
  }

  /** Shows a range, or everything. A range outside the data or without width is ignored. */
  zoom(range: Range | null): void {
    if (range && !(range[1] > range[0])) return;
    if (range === null && this.zoomed === null) return;
    this.zoomed = range;
    for (const listener of [...this.listeners]) listener();
  }

  /** Calls `listener` whenever the range changes; returns a function that unsubscribes. */
  onZoom(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
