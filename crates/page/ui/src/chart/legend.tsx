/** What a chart draws, by name; at the cursor also its values. A click hides a series or shows it again. */

import type { JSX } from 'preact';
import { overTime, type Chart, type Phase, type Tone } from '../document';
import { format, joined } from '../format';
import { clear, look, palette, shade, toneColour } from '../palette';
import { scheme } from '../theme';
import { cellOf, heatColumn, marksAt, phaseAt } from './data';
import { STROKES } from './hatch';
import { bandLook, largest, strip } from './marks';
import type { At, Drawn } from './plot';
import { CROSS, isLine, JUDGED, keys, shapes } from './shapes';
import { interval, word } from './table';

interface Props {
  drawn: Drawn;
  at: At | null;
  hidden: ReadonlySet<number>;
  toggle: (series: number) => void;
}

export function Legend({ drawn, at, hidden, toggle }: Props): JSX.Element {
  const { chart, data, phases } = drawn;
  const points = chart.form === 'points';
  return (
    <div class="legend">
      {chart.form === 'heat' && <HeatScale chart={chart} />}
      <ul>
        {/* The axis names a single series, so it needs no key: the shapes of its points have one. */}
        {(points && chart.series.length === 1 ? [] : chart.series).map((series, index) => {
          const value = at === null || points ? null : data.values[index]?.[at.rows[index] ?? at.row];
          return (
            <li key={index}>
              <button
                type="button"
                class="series"
                aria-pressed={!hidden.has(index)}
                title={hidden.has(index) ? `show ${series.name}` : `hide ${series.name}`}
                onClick={() => toggle(index)}
              >
                <Swatch chart={chart} index={index} />
                <span class="name">{series.name}</span>
                {!points && <span class="value">{value === null ? '' : format(value, chart.y.unit)}</span>}
              </button>
            </li>
          );
        })}
        {points && <Shapes chart={chart} />}
        <Bands chart={chart} />
        {overTime(chart) && <Strips phases={phases} />}
        <Marked marks={chart.marks} />
      </ul>
    </div>
  );
}

/** The values at the cursor, in words; also for screen readers. */
export function reading({ chart, data, phases }: Drawn, at: At | null): string {
  if (at === null || data.x.length === 0) return '';
  if (chart.form === 'heat') return heatReading(chart, at, overTime(chart) ? phases : []);
  if (chart.form === 'points') {
    const point = at.point && data.points[at.point.series]?.[at.point.row];
    if (!point) return '';
    const range = interval(point, chart.y.unit);
    const value = `${format(point.y, chart.y.unit)}${range && ` (${range})`}`;
    return joined(' · ', point.label, format(point.x, chart.x.unit), value, word(point.tone, chart.hollow));
  }
  const x = data.x[at.row]!;
  const phase = overTime(chart) ? phaseAt(phases, x) : null;
  return joined(' · ', format(data.from[at.row], chart.x.unit), phase?.label, marksAt(chart.marks, data.from, at.row));
}

/** The same with the values of all visible series. */
export function spoken(drawn: Drawn, at: At | null, hidden: ReadonlySet<number>): string {
  if (at === null) return 'nothing selected: move with the arrow keys';
  const where = reading(drawn, at);
  if (drawn.chart.form === 'points' || drawn.chart.form === 'heat') return where;
  const values = drawn.chart.series
    .map((series, index) => [series.name, drawn.data.values[index]?.[at.rows[index] ?? at.row], index] as const)
    .filter(([, , index]) => !hidden.has(index))
    .map(([name, value]) => `${name} ${value === null ? 'not measured' : format(value, drawn.chart.y.unit)}`);
  return [where, ...values].join(', ');
}

function heatReading(chart: Chart, at: At, phases: readonly Phase[]): string {
  const heat = chart.heat;
  if (!heat || heat.x.length < 2 || heat.y.length < 2) return '';
  const { total, most } = heatColumn(heat, at.row);
  const cell = (row: number) => `${format(heat.y[row], chart.y.unit)} – ${format(heat.y[row + 1], chart.y.unit)}`;
  const [from, to] = [heat.x[at.row]!, heat.x[at.row + 1]!];
  const phase = phaseAt(phases, (from + to) / 2)?.label;
  const here = at.y === null ? -1 : cellOf(heat.y, at.y);
  let where = '';
  if (here >= 0) where = `${format(heat.counts[at.row * (heat.y.length - 1) + here] ?? 0, 'count')} at ${cell(here)}`;
  else if (most >= 0) where = `most at ${cell(most)}`;
  return joined(' · ', format(from, chart.x.unit), phase, marksAt(chart.marks, heat.x, at.row), `${format(total, 'count')} in all`, where);
}

function Swatch({ chart, index }: { chart: Chart; index: number }): JSX.Element {
  const { colour, dash, width, hatch } = look(chart.series[index]!.role, scheme());
  if (chart.form === 'stack') {
    return (
      <svg class="swatch" width="22" height="12" viewBox="0 0 22 12" aria-hidden="true">
        <rect x="0.5" y="0.5" width="21" height="11" fill={colour} fill-opacity={hatch === 'plain' ? 0.4 : hatch === 'none' ? 0.12 : 0.24} stroke={colour} />
        {[1, 8, 15].flatMap((x) =>
          STROKES[hatch].map(([x0, y0, x1, y1], i) => (
            <line key={`${x} ${i}`} x1={x + x0 * 0.8} y1={2 + y0} x2={x + x1 * 0.8} y2={2 + y1} stroke={colour} />
          )),
        )}
        {hatch === 'dots' && [4, 9, 14, 19].map((x, i) => <circle key={x} cx={x} cy={i % 2 ? 8 : 4} r="1" fill={colour} />)}
      </svg>
    );
  }
  if (chart.form === 'points' && !isLine(chart.series[index]!)) {
    const tones = new Set(chart.series[index]!.points.map((point) => point.tone));
    const tone = tones.size === 1 ? [...tones][0]! : 'plain';
    const shape = shapes(chart)(index, tone);
    const own = shape.toned ? toneColour(tone, scheme()) : colour;
    return (
      <svg class="swatch" width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true">
        {/* With several meanings show none: a hollow mark would be taken for one of them. */}
        <path d={shape.path} fill={shape.filled || tones.size > 1 ? own : 'none'} stroke={own} stroke-width="1.5" />
        {shape.crossed && <path d={CROSS} stroke={toneColour('bad', scheme())} stroke-width="2" />}
      </svg>
    );
  }
  return (
    <svg class="swatch" width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">
      <line x1="0" y1="6" x2="26" y2="6" stroke={colour} stroke-width={width + 0.5} stroke-dasharray={dash.join(' ')} />
    </svg>
  );
}

/** The meaning of points, shown with the same shapes and colours. */
function Shapes({ chart }: { chart: Chart }): JSX.Element {
  return (
    <>
      {keys(chart).map(({ tone, series }) => (
        <li key={tone} class="shape">
          <svg class="swatch" width={12 * series.length} height="12" viewBox={`-6 -6 ${12 * series.length} 12`} aria-hidden="true">
            {series.map((index, place) => (
              <Mark key={index} chart={chart} index={index} tone={tone} x={12 * place} />
            ))}
          </svg>
          {word(tone, chart.hollow)}
        </li>
      ))}
    </>
  );
}

/** The meaning of the shades behind the points. */
function Bands({ chart }: { chart: Chart }): JSX.Element {
  return (
    <>
      {chart.bands
        .filter((band) => band.means !== '')
        .map(({ means, tone }) => {
          const [colour, share] = bandLook(tone, scheme());
          return (
            <li key={means} class="shape">
              <svg class="swatch" width="22" height="12" viewBox="0 0 22 12" aria-hidden="true">
                <rect width="22" height="12" fill={clear(colour, share)} />
              </svg>
              {means}
            </li>
          );
        })}
    </>
  );
}

/** A point of a series, as it is drawn. */
function Mark({ chart, index, tone, x }: { chart: Chart; index: number; tone: Tone; x: number }): JSX.Element {
  const { path, filled, crossed, toned } = shapes(chart)(index, tone);
  const colour = toned ? toneColour(tone, scheme()) : look(chart.series[index]!.role, scheme()).colour;
  return (
    <g transform={`translate(${x} 0)`}>
      <path d={path} fill={filled ? colour : palette(scheme()).ground} stroke={colour} stroke-width="1.5" />
      {crossed && <path d={CROSS} stroke={toneColour('bad', scheme())} stroke-width="2" />}
    </g>
  );
}

/** A trial that does not count. */
const VOID = 'void';

/** What the strips above the axes say of the load at that time. */
function Strips({ phases }: { phases: readonly Phase[] }): JSX.Element {
  const tones = new Set(phases.map((phase) => phase.tone));
  const judged = JUDGED.filter((tone) => tones.has(tone));
  return (
    <>
      {judged.length > 0 && <li class="shape">strip above, each trial:</li>}
      {judged.map((tone) => (
        <li key={tone} class="shape">
          <svg class="swatch" width="22" height="4" viewBox="0 0 22 4" aria-hidden="true">
            <line x2="22" y1="2" y2="2" stroke={toneColour(tone, scheme())} stroke-width="4" stroke-dasharray={strip(tone).join(' ')} />
          </svg>
          {word(tone, VOID)}
        </li>
      ))}
    </>
  );
}

/** What is marked along the lower edge. */
function Marked({ marks }: { marks: readonly Phase[] }): JSX.Element {
  const tones = new Map(marks.map((mark) => [mark.label, mark.tone]));
  return (
    <>
      {[...tones].map(([label, tone]) => (
        <li key={label} class="shape">
          <svg class="swatch" width="12" height="8" viewBox="0 0 12 8" aria-hidden="true">
            <rect width="12" height="8" fill={toneColour(tone, scheme())} />
          </svg>
          {label}
        </li>
      ))}
    </>
  );
}

/** The scale of a heat map: shades and their counts, in equal factors. */
function HeatScale({ chart }: { chart: Chart }): JSX.Element | null {
  const most = largest(chart.heat?.counts ?? []);
  if (most === 0) return <p class="faint">nothing was counted</p>;
  const steps = [1];
  for (let step = 10; step < most; step *= 10) steps.push(step);
  if (most > 1) steps.push(most);
  return (
    <ul class="shades" aria-label="shades">
      {steps.map((step) => (
        <li key={step}>
          <svg class="swatch" width="22" height="12" viewBox="0 0 22 12" aria-hidden="true">
            <rect x="0.5" y="0.5" width="21" height="11" class="cell" fill={shade(Math.log1p(step) / Math.log1p(most), scheme())} />
          </svg>
          {format(step, 'count')}
        </li>
      ))}
      <li class="faint">in a cell; none: empty</li>
    </ul>
  );
}

