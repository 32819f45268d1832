/** Tables: figures right-aligned, text left-aligned, with their own scroll bar on narrow screens. */

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Piece, Table } from './document';
import { PieceView } from './text';

/** Scrolls content that may be wider than the page, and makes it reachable by keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWide(scrolls(element)));
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, []);
  const reachable = wide ? { tabIndex: 0, role: 'group' as const, 'aria-label': label } : {};
  return (
    <div ref={host} class="scroll" {...reachable}>
      {children}
    </div>
  );
}

function scrolls(element: HTMLElement): boolean {
  return element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
}

/** The column names; one without a name is not a header. */
function Head({ names, side }: { names: string[]; side: (column: number) => string }): JSX.Element {
  return (
    <thead>
      <tr>
        {names.map((name, column) =>
          name === '' ? (
            <td key={column} />
          ) : (
            <th key={column} scope="col" class={side(column)}>
              {name}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

/** A table of plain texts. */
export function Grid({
  label,
  head,
  rows,
  text,
}: {
  label: string;
  head: string[];
  rows: string[][];
  text: number[];
}): JSX.Element {
  const side = (column: number) => (text.includes(column) ? 'text' : 'figure');
  return (
    <Scroll label={label}>
      <table>
        <caption class="unseen">{label}</caption>
        <Head names={head} side={side} />
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={side(column)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** A text of up to this many letters stays on one line; one of more has a minimum width, however narrow the screen. */
const SHORT = 24;
const LONG = 40;
/** A table of more rows than this shows only some at first, so that what follows is not far away. */
const FOLDED = 16;
const SHOWN = 10;

/** A document's table. A row may link to another run, if there is a server. */
export function TableView({ table, linked, label }: { table: Table; linked: boolean; label: string }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const folds = table.rows.length > FOLDED;
  const side = (column: number) => (column === 0 || table.text.includes(column) ? 'text' : 'figure');
  const length = ({ text }: Piece) => (text.length <= SHORT ? 'short' : text.length >= LONG ? 'long' : '');
  const cell = (piece: Piece, row: number, column: number) => {
    const run = column === 0 && linked ? table.runs[row] : null;
    return run ? (
      <a href={`#/runs/${encodeURIComponent(run)}`}>
        <PieceView piece={piece} />
      </a>
    ) : (
      <PieceView piece={piece} />
    );
  };
  return (
    <>
      <Scroll label={table.title || label}>
        <table class={folds && !whole ? 'folded' : ''}>
          <caption class={table.title === '' ? 'unseen' : ''}>{table.title || label}</caption>
          {table.head.some((name) => name !== '') && <Head names={table.head} side={side} />}
          <tbody>
            {table.rows.map((row, index) => (
              <tr key={index} class={index >= SHOWN ? 'rest' : ''}>
                {row.map((piece, column) =>
                  column === 0 ? (
                    <th key={column} scope="row" class={`${side(column)} ${length(piece)}`}>
                      {cell(piece, index, column)}
                    </th>
                  ) : (
                    <td key={column} class={`${side(column)} ${length(piece)}`}>
                      {cell(piece, index, column)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {folds && (
        <button type="button" class="quiet unfold" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? `show the first ${SHOWN} rows` : `show all ${table.rows.length} rows`}
          <span class="unseen"> of {table.title || label}</span>
        </button>
      )}
    </>
  );
}
