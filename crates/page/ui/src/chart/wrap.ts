/** Text in drawings, which have no line breaking. */

import { parted } from '../text';

const KEPT = '\u00a0';

/** A text in lines of at most this many letters; longer words are cut. */
export function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  let line = '';
  // Parts that must not be broken keep their blanks until then.
  const kept = parted(text).map((part, index) => (index % 2 === 0 ? part : part.replaceAll(' ', KEPT)));
  for (let word of kept.join('').split(/ +/)) {
    while (word.length > room) {
      if (line !== '') lines.push(line);
      line = '';
      lines.push(word.slice(0, room));
      word = word.slice(room);
    }
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((line) => line.replaceAll(KEPT, ' '));
}
