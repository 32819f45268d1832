/** Bars one below the other, each with its interval; below it, thin, what it should come to, part by part. */

import type { ComponentChildren, JSX } from 'preact';
import type { Chart, Point } from '../document';
import { format, formatTick, joined } from '../format';
import { placeOn } from '../limits';
import { look, palette, toneColour } from '../palette';
import { scheme } from '../theme';
import { ticks } from '../ticks';
import { NARROW, valued } from './intervals';
import { barRange, barRows, type BarRow } from './parts';
import { useWidth } from './width';
import { wrapped } from './wrap';

const FOOT = 34;
/** The axis's figures are repeated on top: the first bars and the last are not visible at once. */
const HEAD = 20;
/** Heights of a line of a name or note, of a bar, and of the thin bar below it. */
const LINE = 15;
const BAR = 18;
const THIN = 7;
/** Above a new name; on narrow screens, above each bar. */
const GAP = 6;
/** Maximum width of a letter of a name, and of a figure. */
const LETTER = 7.2;
const FIGURE = 6.4;
/** Maximum share of the width for labels. */
const LABELS = 0.3;

interface Placed extends BarRow {
  names: string[];
  notes: string[];
  top: number;
  /** Top of its bar. */
  bar: number;
}

export function Bars({ chart }: { chart: Chart }): JSX.Element {
  const [host, width] = useWidth();
  const narrow = width < NARROW;
  const colours = palette(scheme());
  const rows = barRows(chart);
  const longest = (texts: string[]) => Math.max(0, ...texts.map((text) => text.length));
  const labels = LETTER * longest(rows.map(({ value }) => value?.label ?? ''));
  const left = narrow || labels === 0 ? 4 : Math.min(labels, width * LABELS) + 12;
  const right = narrow ? 4 : FIGURE * longest(rows.map((row) => said(chart, row))) + 12;
  const letters = (room: number) => Math.max(8, Math.floor(room / LETTER));
  let below = 0;
  const placed: Placed[] = rows.map((row, index) => {
    const named = rows[index - 1]?.row.name !== row.row.name;
    const names = named ? wrapped(row.row.name, letters(width - 8)) : [];
    const notes = row.row.note === '' ? [] : wrapped(row.row.note, letters(width - left - 4));
    const top = below + (index > 0 && (named || narrow) ? GAP : 0);
    // On narrow screens, its labels and its value are above it.
    const bar = top + LINE * (names.length + (narrow ? 1 : 0));
    below = bar + BAR + (row.parts.length > 0 ? THIN : 0) + LINE * notes.length;
    return { ...row, names, notes, top, bar };
  });
  const bottom = HEAD + below;
  const [min, max] = barRange(chart, rows);
  const axis = { from: min, to: max, log: chart.x.log };
  const at = (value: number) => left + placeOn(axis, value) * (width - left - right);
  const zero = chart.x.log ? left : at(0);
  const room = Math.max(2, Math.floor((width - left - right) / 80));
  return (
    <>
      <Keys rows={rows} />
      <div ref={host} class="intervals bars">
        <svg
          width={width}
          height={bottom + FOOT}
          viewBox={`0 0 ${width} ${bottom + FOOT}`}
          role="img"
          aria-label={`${chart.title}: ${rows.map((row) => spoken(chart, row)).join('; ')}`}
        >
          {ticks(chart.x.unit, chart.x.log, min, max, room).map((tick) => (
            <g key={tick}>
              <line class="grid" x1={at(tick)} x2={at(tick)} y1={HEAD} y2={bottom} />
              {[HEAD - 6, bottom + 15].map((y) => (
                <text key={y} class="tick" x={at(tick)} y={y} text-anchor="middle">
                  {formatTick(tick, chart.x.unit)}
                </text>
              ))}
            </g>
          ))}
          <text class="tick" x={(left + width - right) / 2} y={bottom + FOOT - 4} text-anchor="middle">
            {chart.x.name}
          </text>
          {placed.map((row, index) => {
            const { value, parts, names, notes } = row;
            const y = HEAD + row.bar;
            const beside = narrow ? y - 4 : y + 13;
            return (
              <g key={index}>
                {names.map((name, line) => (
                  <text key={line} class="label" x={4} y={HEAD + row.top + 12 + LINE * line}>
                    {name}
                  </text>
                ))}
                {value !== null && value.label !== '' && (
                  <text class="value" x={narrow ? 4 : left - 8} y={beside} text-anchor={narrow ? 'start' : 'end'} fill={colours.faint}>
                    {value.label}
                  </text>
                )}
                {value !== null && (
                  <Titled text={spoken(chart, row)}>
                    <Bar chart={chart} value={value} zero={zero} at={at} y={y} />
                  </Titled>
                )}
                {parts.map(({ point, from, to }, nth) => (
                  <Titled key={nth} text={[row.row.name, point.label, format(point.x, chart.x.unit)].join(', ')}>
                    {/* One filled, one hollow: distinguishable without colour. */}
                    <rect
                      x={nth === 0 ? zero : at(from)}
                      y={y + BAR - 1}
                      width={Math.max(1, at(to) - (nth === 0 ? zero : at(from)))}
                      height={THIN - 3}
                      fill={nth % 2 === 0 ? colours.neutral : colours.ground}
                      stroke={colours.neutral}
                    />
                  </Titled>
                ))}
                <text class="value" x={width - 4} y={beside} text-anchor="end" fill={colours.text}>
                  {said(chart, row)}
                </text>
                {notes.map((note, line) => (
                  <text
                    key={line}
                    class="value"
                    x={left}
                    y={y + BAR + (parts.length > 0 ? THIN : 0) + 12 + LINE * line}
                    fill={colours.faint}
                  >
                    {note}
                  </text>
                ))}
              </g>
            );
          })}
        </svg>
      </div>
    </>
  );
}

/** The legend of bars: hollow and filled as they are drawn. */
function Keys({ rows }: { rows: BarRow[] }): JSX.Element {
  const colours = palette(scheme());
  const measured = look('achieved', scheme()).colour;
  const has = (is: (row: BarRow) => boolean) => rows.some(is);
  const keys: [string, string, string, boolean][] = [
    ['measured', measured, 'none', has(({ value }) => value !== null && value.tone !== 'warn')],
    ['measured, doubtful', colours.ground, toneColour('warn', scheme()), has(({ value }) => value?.tone === 'warn')],
    ['part of its sum', colours.neutral, colours.neutral, has(({ parts }) => parts.length > 0)],
    ['next part', colours.ground, colours.neutral, has(({ parts }) => parts.length > 1)],
  ];
  return (
    <div class="legend">
      <ul>
        {keys
          .filter(([, , , shown]) => shown)
          .map(([name, fill, stroke]) => (
            <li key={name} class="shape">
              <svg class="swatch" width="22" height="12" viewBox="0 0 22 12" aria-hidden="true">
                <rect x="1" y="2" width="20" height="8" fill={fill} fill-opacity={fill === measured ? 0.6 : 1} stroke={stroke} />
              </svg>
              {name}
            </li>
          ))}
      </ul>
    </div>
  );
}

/** Hollow if it is doubtful. */
function Bar({
  chart,
  value,
  zero,
  at,
  y,
}: {
  chart: Chart;
  value: Point;
  zero: number;
  at: (value: number) => number;
  y: number;
}): JSX.Element {
  const colours = palette(scheme());
  const doubtful = value.tone === 'warn';
  const end = at(value.x);
  const { low, high } = value;
  const whisker = low !== null && high !== null && !(chart.x.log && low <= 0) ? [low, high] : null;
  const middle = y + BAR / 2;
  return (
    <>
      <rect
        x={Math.min(zero, end)}
        y={y + 3}
        width={Math.max(1, Math.abs(end - zero))}
        height={BAR - 6}
        fill={doubtful ? colours.ground : look('achieved', scheme()).colour}
        fill-opacity={doubtful ? 1 : 0.6}
        stroke={doubtful ? toneColour('warn', scheme()) : 'none'}
        stroke-width="1.5"
      />
      {whisker && (
        <g stroke={colours.text} stroke-width="1.5">
          <line x1={at(whisker[0]!)} x2={at(whisker[1]!)} y1={middle} y2={middle} />
          {whisker.map((end, nth) => (
            <line key={nth} x1={at(end)} x2={at(end)} y1={middle - 4} y2={middle + 4} />
          ))}
        </g>
      )}
    </>
  );
}

function Titled({ text, children }: { text: string; children: ComponentChildren }): JSX.Element {
  return (
    <g>
      <title>{text}</title>
      {children}
    </g>
  );
}

/** Its value and outcome. */
function said(chart: Chart, { row, value }: BarRow): string {
  return joined(' · ', value && valued(chart, value), row.word.text);
}

function spoken(chart: Chart, row: BarRow): string {
  return joined(', ', row.row.name, row.value?.label, said(chart, row));
}
