/** Intervals one below the other, each with its middle: where they are apart, the difference is no accident. */

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Chart, Point, Tone } from '../document';
import { format, formatTick } from '../format';
import { look, palette, toneColour } from '../palette';
import { onScheme, scheme } from '../theme';
import { niceRange, ticks } from '../ticks';
import { onPrint, PRINT_WIDTH } from '../print';
import { interval, word } from './table';
import { wrapped } from './wrap';

/** Narrower than this, a name and its value do not fit beside each other. */
const NARROW = 560;
const FOOT = 34;
/** The height of a line of a name, and the width of a letter of it, at most. */
const LINE = 15;
const LETTER = 7.2;
/** A line of names of bounds. */
const LANE = 14;

export function Intervals({ chart }: { chart: Chart }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [, recoloured] = useState(0);
  useLayoutEffect(() => {
    const measure = () => host.current && setWidth(Math.max(200, host.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    if (host.current) observer.observe(host.current);
    const ends = [
      () => observer.disconnect(),
      onPrint((printing) => (printing ? setWidth(PRINT_WIDTH) : measure())),
      onScheme(() => recoloured((n) => n + 1)),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, []);
  const narrow = width < NARROW;
  const room = Math.floor((narrow ? width - 8 : width * 0.6) / LETTER);
  let below = 0;
  const rows = chart.series.flatMap((series) =>
    series.points.map((point) => {
      const lines = wrapped(point.label, room);
      const top = below;
      below += LINE * (lines.length + (narrow ? 1 : 0)) + 24;
      return { point, role: series.role, lines, top };
    }),
  );
  const place = scale(chart, rows.map(({ point }) => point), width);
  const bounds = placed(chart, place.at, width);
  const head = 6 + LANE * Math.max(1, ...bounds.map((bound) => bound.lane + 1));
  const height = head + below + FOOT;
  const colours = palette(scheme());
  return (
    <div ref={host} class="intervals">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={summary(chart)}>
        {place.ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={place.at(tick)} x2={place.at(tick)} y1={head} y2={height - FOOT} />
            <text class="tick" x={place.at(tick)} y={height - FOOT + 15} text-anchor="middle">
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
              <line x1={x} x2={x} y1={LANE * lane + 4} y2={height - FOOT} stroke={colour} stroke-dasharray="6 3" />
              <text class="bound" x={x + (leftwards ? -4 : 4)} y={LANE * (lane + 1) - 2} text-anchor={leftwards ? 'end' : 'start'} fill={colour}>
                {text}
              </text>
            </g>
          );
        })}
        {rows.map(({ point, role, lines, top }, index) => {
          const y = head + top;
          const after = y + LINE * lines.length;
          const judged = point.tone !== 'plain' && point.tone !== 'strong';
          const colour = judged ? toneColour(point.tone, scheme()) : look(role, scheme()).colour;
          const range = interval(point, chart.x.unit);
          const value = `${format(point.x, chart.x.unit)}${range && ` (${range})`}`;
          return (
            <g key={index}>
              {lines.map((line, at) => (
                <text key={at} class="label" x={4} y={y + 12 + LINE * at}>
                  {line}
                </text>
              ))}
              <text class="value" x={narrow ? 4 : width - 4} y={(narrow ? after : y) + 12} text-anchor={narrow ? 'start' : 'end'} fill={colours.text}>
                {[value, word(point.tone)].filter((part) => part !== '').join(' · ')}
              </text>
              <Mark point={point} at={place.at} y={after + (narrow ? LINE : 0) + 8} colour={colour} log={chart.x.log} />
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function Mark({
  point,
  at,
  y,
  colour,
  log,
}: {
  point: Point;
  at: (value: number) => number;
  y: number;
  colour: string;
  log: boolean;
}): JSX.Element {
  const { low, high } = point;
  const drawn = low !== null && high !== null && !(log && low <= 0);
  const x = at(point.x);
  return (
    <g stroke={colour} fill={colour}>
      {drawn && <line x1={at(low)} x2={at(high)} y1={y} y2={y} stroke-width="3" />}
      {drawn && [low, high].map((end, i) => <line key={i} x1={at(end)} x2={at(end)} y1={y - 5} y2={y + 5} stroke-width="1.5" />)}
      {point.tone === 'bad' ? (
        <path d={`M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}`} stroke-width="2.5" />
      ) : (
        <circle cx={x} cy={y} r="5" />
      )}
    </g>
  );
}

interface Placed {
  x: number;
  text: string;
  tone: Tone;
  leftwards: boolean;
  lane: number;
}

/** Bounds with their names, such that no name lies on another. */
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

function scale(chart: Chart, points: Point[], width: number): { at: (value: number) => number; ticks: number[] } {
  const { log, unit } = chart.x;
  const all = [
    ...points.flatMap((point) => [point.x, point.low ?? point.x, point.high ?? point.x]),
    ...chart.bounds.map((bound) => bound.at),
  ].filter((value) => !log || value > 0);
  let [min, max] = [Math.min(...all), Math.max(...all)];
  if (all.length === 0) [min, max] = niceRange(log, min, max);
  else if (log) {
    const air = Math.max((max / min) ** 0.06, 1.02);
    [min, max] = [min / air, max * air];
  }
  else {
    const air = (max - min) * 0.06 || Math.abs(max) * 0.1 || 1;
    // Nothing is drawn below zero that cannot be below zero.
    [min, max] = [min >= 0 ? Math.max(0, min - air) : min - air, max + air];
  }
  const side = 24;
  const share = (value: number) =>
    log ? Math.log(Math.max(value, min) / min) / Math.log(max / min) : (value - min) / (max - min);
  return {
    at: (value) => side + Math.min(1, Math.max(0, share(value))) * (width - 2 * side),
    ticks: ticks(unit, log, min, max, Math.max(2, Math.floor((width - 2 * side) / 80))),
  };
}

function summary(chart: Chart): string {
  const rows = chart.series.flatMap((series) => series.points);
  const said = rows.map((point) => {
    const range = interval(point, chart.x.unit);
    return `${point.label} ${format(point.x, chart.x.unit)}${range && ` (${range})`}`;
  });
  return `${chart.title}: ${said.join('; ')}`;
}
