/** Texts in a drawing, where nothing breaks lines by itself. */

/** A text in lines of so many letters; a word that is longer is cut. */
export function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (let word of text.split(/\s+/)) {
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
  return [...lines, line];
}
