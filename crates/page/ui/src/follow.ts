/**
 * Follows a run of the server. Received data is kept whatever happens to the server; the page is notified of changes at most
 * twice a second, and not at all while it is hidden.
 */

import { readFront, readTimeline, type Document } from './document';
import { readDocument } from './read';
import { type Held, withRows } from './rows';
import { address, ask, Trouble } from './source';

export interface Followed {
  document: Document | null;
  notes: string[];
  trouble: Trouble | null;
  /** The run goes on, and the server sends updates. */
  live: boolean;
  /** When the server was last heard from, in milliseconds since 1970. */
  heard: number;
}

/** Minimum time between two updates of the page, in ms. */
const PAUSE = 500;
/** Delay before the server is asked again, in ms. */
const RETRY = 2000;
/** Hidden for this long, in ms, the page disconnects; it reloads everything when visible again. */
const UNSEEN = 20_000;

export class Follow {
  private now: Followed = { document: null, notes: [], trouble: null, live: false, heard: 0 };
  private held: Held | null = null;
  private events: EventSource | null = null;
  private waiting: number | null = null;
  private retry: number | null = null;
  private unseen: number | null = null;
  private ended = false;

  constructor(
    private readonly id: string,
    private readonly changed: (now: Followed) => void,
  ) {
    document.addEventListener('visibilitychange', this.seen);
    void this.load();
  }

  end(): void {
    this.ended = true;
    document.removeEventListener('visibilitychange', this.seen);
    this.close();
    for (const timer of [this.waiting, this.retry, this.unseen]) if (timer !== null) clearTimeout(timer);
  }

  private async load(): Promise<void> {
    this.close();
    try {
      const read = readDocument(await ask(`/api/runs/${encodeURIComponent(this.id)}`));
      if (this.ended) return;
      if (!read) throw new Trouble('refused', 'The server sent a run that this page cannot read: are both from the same version of torment?');
      this.held = { generation: null, timeline: read.document.timeline };
      this.now = { ...read, trouble: null, live: read.document.front.head.state === 'running', heard: Date.now() };
      if (this.now.live && !document.hidden) this.open();
    } catch (error) {
      if (this.ended) return;
      const trouble = Trouble.of(error);
      const head = this.now.document?.front.head;
      if (trouble.why === 'gone' && head && head.state !== 'running') {
        // A page of one run ends with it.
        const over = `torment ended with the run; this is the last it sent. "torment serve" shows the run again, "torment report ${head.id}" writes it to a file.`;
        this.now = { ...this.now, notes: [over], trouble: null, live: false };
      } else {
        this.now = { ...this.now, trouble, live: false };
        if (trouble.why === 'gone' || trouble.why === 'refused') this.again();
      }
    }
    this.tell();
  }

  private open(): void {
    const events = new EventSource(address(`/api/runs/${encodeURIComponent(this.id)}/events`));
    this.events = events;
    const on = (name: string, act: (data: unknown) => void) =>
      events.addEventListener(name, (event) => {
        if (this.events !== events) return;
        try {
          act(JSON.parse((event as MessageEvent<string>).data || 'null'));
          this.heard();
        } catch {
          // A truncated event: reload what the server has.
          void this.load();
        }
      });
    events.addEventListener('open', () => this.heard());
    events.addEventListener('error', () => {
      if (this.events !== events) return;
      if (!this.running()) {
        void this.load();
        return;
      }
      const trouble = new Trouble('gone', 'The server that this page came from no longer answers.');
      this.now = { ...this.now, live: false, trouble };
      this.tell();
      // The browser reconnects by itself unless the server refused it.
      if (events.readyState === EventSource.CLOSED) this.again();
    });
    on('front', (data) => this.change({ front: readFront(data) }));
    on('rows', (data) => {
      const { generation, from, timeline } = (data ?? {}) as Record<string, unknown>;
      const rows = { generation: Number(generation), from: Number(from), timeline: readTimeline(timeline) };
      const held = this.held && withRows(this.held, rows);
      if (!held) {
        void this.load();
        return;
      }
      this.held = held;
      this.change({ timeline: held.timeline });
    });
    on('end', () => void this.load());
  }

  private change(part: Partial<Document>): void {
    if (this.now.document) this.now = { ...this.now, document: { ...this.now.document, ...part } };
  }

  private running(): boolean {
    return this.now.document?.front.head.state === 'running';
  }

  private heard(): void {
    this.now = { ...this.now, live: true, trouble: null, heard: Date.now() };
    this.tell();
  }

  private close(): void {
    this.events?.close();
    this.events = null;
  }

  private again(): void {
    if (this.retry !== null) return;
    this.retry = window.setTimeout(() => {
      this.retry = null;
      void this.load();
    }, RETRY);
  }

  /** Notifies of the current state: at once if the last notification was long enough ago. */
  private tell(): void {
    if (this.waiting !== null || document.hidden || this.ended) return;
    this.changed(this.now);
    this.waiting = window.setTimeout(() => {
      this.waiting = null;
      if (this.last !== this.now) this.tell();
    }, PAUSE);
    this.last = this.now;
  }

  private last: Followed | null = null;

  private readonly seen = () => {
    if (this.unseen !== null) clearTimeout(this.unseen);
    this.unseen = null;
    if (document.hidden) {
      this.unseen = window.setTimeout(() => this.close(), UNSEEN);
      return;
    }
    if (this.running() && this.events === null) void this.load();
    else this.tell();
  };
}
