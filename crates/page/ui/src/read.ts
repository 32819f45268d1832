/** Reads a whole document, and reports what the reader should know of it. */

import { readFront, readTimeline, SCHEMA, type Document } from './document';
import { isObject, number } from './reader';

export interface Read {
  document: Document;
  /** Shown above the page; empty if all is well. */
  notes: string[];
}

/** A document from JSON; null if it is not one at all. */
export function readDocument(value: unknown): Read | null {
  if (!isObject(value) || !isObject(value.front)) return null;
  const schema = number(0)(value.schema);
  const document = { schema, front: readFront(value.front), timeline: readTimeline(value.timeline) };
  const notes: string[] = [];
  if (schema > SCHEMA) {
    notes.push(
      `This document has format ${schema}, written by torment ${document.front.head.version || 'of a newer version'}; ` +
        `this page knows formats up to ${SCHEMA}. What it can read is shown; parts may be missing: ` +
        'open it with the torment that wrote it.',
    );
  }
  return { document, notes };
}
