/** Reads a whole document, and says what there is to know of it. */

import { readFront, readTimeline, SCHEMA, type Document } from './document';
import { isObject, number } from './reader';

/** What was read, and what the reader should know of it. */
export interface Read {
  document: Document;
  /** Said above the page; empty if all is well. */
  notes: string[];
}

/** A document from JSON; nothing if it is not one at all. */
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
