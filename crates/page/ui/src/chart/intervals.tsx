/**
 * Intervals one below the other, each with its middle: if they do not overlap, the difference is no accident. Their underlying
 * values are small beside them.
 */

import type { JSX } from 'preact';
import type { Band, Chart, Point, Role, Tone } from '../document';
import { format, formatTick, joined } from '../format';
import { placeOn } from '../limits';
import { look, palette, toneColour } from '../palette';
import { scheme } from '../theme';
import { niceRange, ticks } from '../ticks';
import { bandLook } from './marks';
import { CROSS, judged, OUTLINES, TRIANGLE } from './shapes';
import { interval, rowOf, word } from './table';
import { useWidth } from './width';
import { wrapped } from './wrap';

/** Below this width, a name and its value do not fit side by side. */
export const NARROW = 560;
const FOOT = 34;
/** Height of a line of a name, and maximum width of one of its letters. */
const LINE = 15;
const LETTER = 7.2;
/** A line of names of bounds, and one of bands. */
const LANE = 14;
/** Height of a row's drawing: for its value alone, or with underlying values. */
const STRIP = [24, 44] as const;

export function Intervals({ chart }: { chart: Chart }): JSX.Element {
  const [host, width] = useWidth();
  const narrow = width < NARROW;
  const letters = (share: number) => Math.floor(((narrow ? 1 : share) * width - 8) / LETTER);
  const strip = STRIP[chart.series.slice(1).some((series) => series.points.length > 0) ? 1 : 0];
  let below = 0;
  const rows = chart.rows.map((row) => {
    const top = below;
    const lines = wrapped(row.name, letters(0.6));
    const notes = row.note === '' ? [] : wrapped(row.note, letters(1));
    const point = chart.series[0]?.points.find((point) => rowOf(chart, point) === row) ?? null;
    const value = point ? valued(chart, point) : '';
    const became = row.word.text || (point ? word(point.tone, chart.hollow) : '');
    // Below the name, where there is no room beside it.
    const own = narrow && value + became !== '' ? 1 : 0;
    const middle = LINE * (lines.length + notes.length + own) + strip / 2;
    below += middle + strip / 2;
    return { row, lines, notes, value, became, own, top, middle: top + middle };
  });
  // Underlying values are drawn behind the value.
  const points = chart.series
    .flatMap(({ points, role }, index) =>
      points.filter((point) => rowOf(chart, point)).map((point) => ({ point, role, small: index > 0 })),
    )
    .reverse();
  const place = scale(chart, points.map(({ point }) => point), width);
  const bounds = placed(chart, place.at, width);
  const head = 6 + LANE * Math.max(1, ...bounds.map((bound) => bound.lane + 1));
  const named = chart.bands.some((band) => band.name !== '');
  const wide = (band: Band) => Math.abs(place.end(band.to, true) - place.end(band.from, false));
  // A name too wide for its zone has a line of its own below.
  const narrower = chart.bands.filter((band) => !fits(band, wide(band)));
  const lanes = named ? 1 + narrower.length : 0;
  const bottom = head + below + LANE * lanes;
  const height = bottom + FOOT;
  const across = (point: Point) => {
    const at = Math.round(point.y);
    return head + rows[at]!.middle + (point.y - at) * strip;
  };
  const colours = palette(scheme());
  return (
    <div ref={host} class="intervals">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={summary(chart)}>
        {chart.bands.map((band, index) => {
          const ends = [place.end(band.from, false), place.end(band.to, true)];
          const [from, to] = [Math.min(...ends), Math.max(...ends)];
          const [colour, share] = bandLook(band.tone, scheme());
          return (
            <g key={index} fill={colour}>
              {/* Only behind the drawing: a word on a shade would be taken for its meaning. */}
              {rows.map(({ middle }, nth) => (
                <rect key={nth} x={from} y={head + middle - strip / 2} width={Math.max(2, to - from)} height={strip} fill-opacity={share} />
              ))}
              {named && <rect x={from} y={bottom - LANE * lanes} width={Math.max(2, to - from)} height={LANE} fill-opacity={share} />}
              {fits(band, to - from) ? (
                <text class="bound" x={from + 6} y={bottom - LANE * lanes + LANE - 4}>
                  {band.name}
                </text>
              ) : (
                <text class="bound" x={Math.min(width - 40, Math.max(40, (from + to) / 2))} y={bottom - LANE * (lanes - 2 - narrower.indexOf(band)) - 4} text-anchor="middle">
                  {band.name}
                </text>
              )}
            </g>
          );
        })}
        {place.ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={place.at(tick)} x2={place.at(tick)} y1={head} y2={bottom} />
            <text class="tick" x={place.at(tick)} y={bottom + 15} text-anchor="middle">
              {formatTick(tick, chart.x.unit)}
            </text>
          </g>
        ))}
        <text class="tick" x={width / 2} y={height - 4} text-anchor="middle">
          {chart.x.name}
        </text>
        {bounds.map(({ x, text, tone, leftwards, lane }, index) => {
          const colour = tone === 'plain' ? colours.text : toneColour(tone, scheme());
          return (
            <g key={index}>
              {/* As with zones, only beside the drawing: not through names. */}
              {[[LANE * lane + 4, head], ...rows.map(({ middle }) => [head + middle - strip / 2, head + middle + strip / 2])].map(([from, to]) => (
                <line key={from} x1={x} x2={x} y1={from} y2={to} stroke={colour} stroke-dasharray="6 3" />
              ))}
              <text class="bound" x={x + (leftwards ? -4 : 4)} y={LANE * (lane + 1) - 2} text-anchor={leftwards ? 'end' : 'start'} fill={colour}>
                {text}
              </text>
            </g>
          );
        })}
        {points.map(({ point, role, small }, index) =>
          small ? (
            <Small key={index} chart={chart} point={point} x={place.at(point.x)} y={across(point)} />
          ) : (
            <Mark key={index} point={point} place={place} y={across(point)} colour={colourOf(point.tone, role)} log={chart.x.log} />
          ),
        )}
        {rows.map(({ row, lines, notes, value, became, own, top }, index) => {
          const y = head + top + 12;
          const after = y + LINE * lines.length;
          return (
            <g key={index}>
              {lines.map((line, at) => (
                <text key={at} class="label" x={4} y={y + LINE * at}>
                  {line}
                </text>
              ))}
              <text class="value" x={narrow ? 4 : width - 4} y={narrow ? after : y} text-anchor={narrow ? 'start' : 'end'} fill={colours.text}>
                {value}
                {value !== '' && became !== '' && ' · '}
                <tspan class="became" fill={judged(row.word.tone) ? toneColour(row.word.tone, scheme()) : colours.text}>
                  {became}
                </tspan>
              </text>
              {notes.map((line, at) => (
                <text key={at} class="value" x={4} y={after + LINE * (at + own)} fill={colours.faint}>
                  {line}
                </text>
              ))}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Whether a name fits into its zone; an empty one always does. */
const fits = (band: Band, width: number) => band.name === '' || width > band.name.length * 6.2 + 12;

const colourOf = (tone: Tone, role: Role) => (judged(tone) || tone === 'faint' ? toneColour(tone, scheme()) : look(role, scheme()).colour);

/** A value with its interval. */
export function valued(chart: Chart, point: Point): string {
  const range = interval(point, chart.x.unit);
  return `${format(point.x, chart.x.unit)}${range && ` (${range})`}`;
}

/** The shape repeats the tone; a value without a judgement is round, and square if it is the chart's answer. */
function outline(tone: Tone): string {
  if (tone === 'bad') return CROSS;
  return tone === 'warn' ? TRIANGLE : OUTLINES[tone === 'strong' ? 1 : 0]!;
}

function Mark({
  point,
  place: { at, end },
  y,
  colour,
  log,
}: {
  point: Point;
  place: Places;
  y: number;
  colour: string;
  log: boolean;
}): JSX.Element {
  const ends = [point.low, point.high].map((value) => (value === null || (log && value <= 0) ? null : at(value)));
  const [low, high] = ends;
  // A half-open interval runs off the picture.
  const drawn = low !== null || high !== null;
  return (
    <g stroke={colour} fill={colour}>
      {drawn && <line x1={low ?? end(null, false)} x2={high ?? end(null, true)} y1={y} y2={y} stroke-width="3" stroke-dasharray={low === null || high === null ? '6 3' : undefined} />}
      {ends.map((x, i) => x !== null && <line key={i} x1={x} x2={x} y1={y - 5} y2={y + 5} stroke-width="1.5" />)}
      <path d={outline(point.tone)} transform={`translate(${at(point.x)} ${y}) scale(1.25)`} stroke-width={point.tone === 'bad' ? 2 : 0} />
    </g>
  );
}

/** An underlying value; hollow if it does not count. */
function Small({ chart, point, x, y }: { chart: Chart; point: Point; x: number; y: number }): JSX.Element {
  const hollow = point.tone === 'warn';
  const colours = palette(scheme());
  return (
    <circle cx={x} cy={y} r="3" fill={hollow ? colours.ground : colours.neutral} stroke={hollow ? colours.warn : 'none'} stroke-width="1.5">
      <title>{joined(', ', rowOf(chart, point)?.name, point.label, format(point.x, chart.x.unit))}</title>
    </circle>
  );
}

interface Placed {
  x: number;
  text: string;
  tone: Tone;
  leftwards: boolean;
  lane: number;
}

/** Bounds with their names, placed without overlap. */
function placed(chart: Chart, at: (value: number) => number, width: number): Placed[] {
  const ends: [number, number][][] = [];
  return chart.bounds.map((bound) => {
    const x = at(bound.at);
    const text = `${bound.name} ${format(bound.at, chart.x.unit)}`.trim();
    const leftwards = x > width / 2;
    const room = text.length * 6.2 + 10;
    const [from, to] = leftwards ? [x - room, x] : [x, x + room];
    let lane = 0;
    while (ends[lane]?.some(([left, right]) => from < right && to > left)) lane++;
    (ends[lane] ??= []).push([from, to]);
    return { x, text, tone: bound.tone, leftwards, lane };
  });
}

interface Places {
  at: (value: number) => number;
  /** Where a band ends: a half-open one at the edge. */
  end: (value: number | null, most: boolean) => number;
  ticks: number[];
}

function scale(chart: Chart, points: Point[], width: number): Places {
  const { log, unit } = chart.x;
  const all = [
    ...points.flatMap((point) => [point.x, point.low ?? point.x, point.high ?? point.x]),
    ...chart.bounds.map((bound) => bound.at),
    ...chart.bands.flatMap((band) => [band.from, band.to]).filter((end) => end !== null),
  ].filter((value) => !log || value > 0);
  let [min, max] = [Math.min(...all), Math.max(...all)];
  if (all.length === 0) [min, max] = niceRange(log, min, max);
  else if (log) {
    const air = Math.max((max / min) ** 0.06, 1.02);
    [min, max] = [min / air, max * air];
  }
  else {
    const air = (max - min) * 0.06 || Math.abs(max) * 0.1 || 1;
    // Nothing is drawn below zero for quantities that cannot be negative.
    [min, max] = [min >= 0 ? Math.max(0, min - air) : min - air, max + air];
  }
  const side = 24;
  const axis = { from: min, to: max, log };
  const at = (value: number) => side + placeOn(axis, value) * (width - 2 * side);
  return {
    at,
    end: (value, isMost) => (value === null ? (isMost ? width : 0) : at(value)),
    ticks: ticks(unit, log, min, max, Math.max(2, Math.floor((width - 2 * side) / 80))),
  };
}

function summary(chart: Chart): string {
  const said = chart.rows.map((row) => {
    const point = chart.series[0]?.points.find((point) => rowOf(chart, point) === row);
    return joined(' ', row.name, joined(', ', row.word.text, point && valued(chart, point), row.note));
  });
  return `${chart.title}: ${said.join('; ')}`;
}
