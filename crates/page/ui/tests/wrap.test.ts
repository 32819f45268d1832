import { expect, test } from 'vitest';
import { wrapped } from '../src/chart/wrap';

test.each([
  ['', 10, ['']],
  ['a pool of 20', 20, ['a pool of 20']],
  ['a pool of 20', 7, ['a pool', 'of 20']],
  ['http://127.0.0.1/x', 8, ['http://1', '27.0.0.1', '/x']],
  ['it is 47.1 µs', 12, ['it is', '47.1 µs']],
  ['as abcdefghij', 5, ['as', 'abcde', 'fghij']],
])('%j in lines of %d letters', (text, room, lines) => expect(wrapped(text, room)).toEqual(lines));
