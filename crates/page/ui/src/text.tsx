/** Lines of text, a piece for each tone. */

import type { JSX } from 'preact';
import type { Piece, Text, Tone } from './document';

export function PieceView({ piece }: { piece: Piece }): JSX.Element {
  const text = whole(piece.text);
  if (piece.tone === 'plain') return <>{text}</>;
  if (piece.tone === 'strong') return <strong>{text}</strong>;
  return <span class={piece.tone}>{text}</span>;
}

/** A browser breaks lines after hyphens and at blanks, but an option with its value is a word, and so is a figure with its unit. */
export function whole(text: string): (string | JSX.Element)[] {
  return parted(text).map((part, index) => (index % 2 === 0 ? part : <span class="option">{part}</span>));
}

const OPTION = "--[a-z][a-z-]*(?: [^\\s,;)]{1,18})?";
const FIGURE = '\\d[\\d.,]* (?:%|ns|µs|ms|s|min|h|[KMGT]iB|[MG]B\\/s)(?![A-Za-z])';
// Without a look behind, which browsers of 2022 do not know.
const WORDS = new RegExp(`(^|[^\\w.,-])(${OPTION}|${FIGURE})`);

/** What stands between what is not to be broken, and that: each second part is one. */
export function parted(text: string): string[] {
  const parts = text.split(WORDS);
  const joined = [parts[0]!];
  for (let at = 1; at < parts.length; at += 3) {
    joined[joined.length - 1] += parts[at]!;
    joined.push(parts[at + 1]!, parts[at + 2]!);
  }
  return joined;
}

export function TextView({ text }: { text: Text }): JSX.Element {
  return (
    <>
      {text.map((piece, index) => (
        <PieceView key={index} piece={piece} />
      ))}
    </>
  );
}

/** The words alone. */
export function words(text: Text): string {
  return text.map((piece) => piece.text).join('').trim();
}

/** What a text means as a whole: the gravest of its pieces. */
export function toneOf(texts: readonly Text[]): Tone {
  const tones = new Set(texts.flat().map((piece) => piece.tone));
  return (['bad', 'warn', 'good'] as const).find((tone) => tones.has(tone)) ?? 'plain';
}
