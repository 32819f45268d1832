/** Lines of text, a piece for each tone. */

import type { JSX } from 'preact';
import type { Piece, Text, Tone } from './document';

export function PieceView({ piece }: { piece: Piece }): JSX.Element {
  const text = whole(piece.text);
  if (piece.tone === 'plain') return <>{text}</>;
  if (piece.tone === 'strong') return <strong>{text}</strong>;
  return <span class={piece.tone}>{text}</span>;
}

/** Browsers break lines after hyphens and at blanks, but an option with its value, or a figure with its unit, must stay together. */
export function whole(text: string): (string | JSX.Element)[] {
  return parted(text).map((part, index) => (index % 2 === 0 ? part : <span class="option">{part}</span>));
}

const OPTION = "--[a-z][a-z-]*(?: [^\\s,;)]{1,18})?";
const FIGURE = '\\d[\\d.,]* (?:%|ns|µs|ms|s|min|h|[KMGT]iB|[MG]B\\/s)(?![A-Za-z])';
// No lookbehind: browsers of 2022 do not support it.
const WORDS = new RegExp(`(^|[^\\w.,-])(${OPTION}|${FIGURE})`);

/** Splits a text so that every second part must not be broken. */
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

/** The plain text. */
export function words(text: Text): string {
  return text.map((piece) => piece.text).join('').trim();
}

/** The tone of a text as a whole: the gravest of its pieces. */
export function toneOf(texts: readonly Text[]): Tone {
  const tones = new Set(texts.flat().map((piece) => piece.tone));
  return (['bad', 'warn', 'good'] as const).find((tone) => tones.has(tone)) ?? 'plain';
}
