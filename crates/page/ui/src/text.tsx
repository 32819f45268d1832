/** Lines of text, a piece for each tone. */

import type { JSX } from 'preact';
import type { Piece, Text, Tone } from './document';

export function PieceView({ piece }: { piece: Piece }): JSX.Element {
  if (piece.tone === 'plain') return <>{piece.text}</>;
  if (piece.tone === 'strong') return <strong>{piece.text}</strong>;
  return <span class={piece.tone}>{piece.text}</span>;
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
