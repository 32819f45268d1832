/** Everything drawn around a chart's lines: phases, bounds, points with their intervals, the cells of a heat map. */

import type uPlot from 'uplot';
import type { Band, Bound, Chart, Heat, Phase, Point, Tone } from '../document';
import { clear, look, type Look, palette, shade, toneColour, type Scheme } from '../palette';
import { format } from '../format';
import type { Data } from './data';
import { above, along, beside, ON_LINE, ON_MARK, place, type Place, type Taken, within } from './names';
import { CROSS, isLine, judged, shapes } from './shapes';

/** Pixels of the screen for each of CSS. */
export const ratio = () => window.devicePixelRatio || 1;

/** The dash of a phase's strip: solid for good. */
export const strip = (tone: Tone): readonly number[] => (tone === 'bad' ? [3, 2] : tone === 'warn' ? [8, 3] : []);

/** Distance of the phase strips above the axes, and their height, in CSS pixels: within the axes they would be taken for figures. */
const STRIP = { away: 7, high: 4 };

/** Faint bands from top to bottom, and above the axes a strip in the tone of each. */
export function drawPhases(plot: uPlot, phases: readonly Phase[], scheme: Scheme): void {
  const { ctx, bbox } = plot;
  const px = ratio();
  ctx.save();
  clip(plot, 0, STRIP.away + STRIP.high);
  for (const phase of phases) {
    const left = plot.valToPos(phase.from, 'x', true);
    const right = plot.valToPos(phase.to, 'x', true);
    if (right < bbox.left || left > bbox.left + bbox.width) continue;
    const colour = toneColour(phase.tone, scheme);
    const [area, edge] = judged(phase.tone) ? [0.07, 0.9] : [0.035, 0.35];
    ctx.fillStyle = clear(colour, area);
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.strokeStyle = clear(colour, edge);
    ctx.lineWidth = STRIP.high * px;
    ctx.setLineDash(strip(phase.tone).map((length) => length * px));
    const height = bbox.top - (STRIP.away - STRIP.high / 2) * px;
    ctx.beginPath();
    ctx.moveTo(left + px, height);
    ctx.lineTo(Math.max(left + px, right - px), height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Ranges of the x axis, behind everything else. */
export function drawBands(plot: uPlot, chart: Chart, scheme: Scheme): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const band of chart.bands) {
    const [left, right] = across(plot, chart, band);
    const [colour, share] = bandLook(band.tone, scheme);
    ctx.fillStyle = clear(colour, share);
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.restore();
}

/** The horizontal extent of a band. */
function across(plot: uPlot, chart: Chart, band: Band): [number, number] {
  const { bbox } = plot;
  const end = bbox.left + bbox.width;
  const place = (at: number | null, edge: number) =>
    at === null || (chart.x.log && at <= 0) ? edge : Math.min(end, Math.max(bbox.left, plot.valToPos(at, 'x', true)));
  const left = place(band.from, bbox.left);
  // The limit may be known more precisely than the picture can show.
  return [left, Math.max(place(band.to, end), Math.min(end, left + 2 * ratio()))];
}

/** The colour of a band, and its opacity. */
export function bandLook(tone: Tone, scheme: Scheme): [string, number] {
  return tone === 'strong' ? [toneColour('warn', scheme), 0.3] : [toneColour(tone, scheme), 0.1];
}

/** Height of the strip of marks, in CSS pixels. */
const MARK = 7;

/** Marks with a duration along the lower edge, each at least as wide as can be seen. */
export function drawMarks(plot: uPlot, marks: readonly Phase[], scheme: Scheme): void {
  const { ctx, bbox } = plot;
  const px = ratio();
  ctx.save();
  clip(plot);
  for (const mark of marks) {
    const left = plot.valToPos(mark.from, 'x', true);
    const width = Math.max(3 * px, plot.valToPos(mark.to, 'x', true) - left);
    if (left + width < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.fillStyle = clear(toneColour(mark.tone, scheme), 0.1);
    ctx.fillRect(left, bbox.top, width, bbox.height);
    ctx.fillStyle = toneColour(mark.tone, scheme);
    ctx.fillRect(left, bbox.top + bbox.height - MARK * px, width, MARK * px);
  }
  ctx.restore();
}

/** A line for each bound within the axis. */
export function drawBounds(plot: uPlot, chart: Chart, scheme: Scheme): void {
  const { ctx, bbox } = plot;
  const px = ratio();
  ctx.save();
  ctx.lineWidth = px;
  for (const bound of chart.bounds) {
    const at = boundAt(plot, chart, bound);
    if (at === null || where(plot, bound, at) !== 'inside') continue;
    ctx.strokeStyle = boundColour(bound, scheme);
    const dash = bound.tone === 'bad' ? [6, 2, 1, 2] : [6, 3];
    ctx.setLineDash(dash.map((length) => length * px));
    ctx.beginPath();
    if (bound.along_x) {
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
    } else {
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
    }
    ctx.stroke();
  }
  ctx.restore();
}

/** Null where a logarithmic axis has no place for it. */
function boundAt(plot: uPlot, chart: Chart, { at, along_x }: Bound): number | null {
  return (along_x ? chart.x : chart.y).log && at <= 0 ? null : plot.valToPos(at, along_x ? 'x' : 'y', true);
}

function where({ bbox }: uPlot, bound: Bound, at: number): 'inside' | 'above' | 'outside' {
  const [low, high] = bound.along_x ? [bbox.left, bbox.left + bbox.width] : [bbox.top, bbox.top + bbox.height];
  if (!bound.along_x && at < low - 1) return 'above';
  return at < low - 1 || at > high + 1 ? 'outside' : 'inside';
}

const boundColour = ({ tone }: Bound, scheme: Scheme) => (tone === 'plain' ? palette(scheme).text : toneColour(tone, scheme));

/** The names of bounds and bands, on top of everything; for a bound above the axis, at the upper edge. */
export function drawNames(plot: uPlot, chart: Chart, data: Data, hidden: ReadonlySet<number>, scheme: Scheme): void {
  if (chart.bounds.length === 0 && chart.bands.length === 0) return;
  const { ctx, bbox } = plot;
  const px = ratio();
  const frame = { left: bbox.left / px, right: (bbox.left + bbox.width) / px, top: bbox.top / px, bottom: (bbox.top + bbox.height) / px };
  const taken = takenBy(plot, chart, data, hidden);
  ctx.save();
  ctx.font = `${11 * px}px system-ui, sans-serif`;
  const write = (text: string, places: readonly Place[], colour: string) => {
    const { x, y, leftwards } = place(places, ctx.measureText(text).width / px, taken, frame);
    label(ctx, text, x * px, y * px, leftwards, colour, scheme);
  };
  for (const bound of chart.bounds) {
    const axis = bound.along_x ? chart.x : chart.y;
    // The axis below shows dates.
    const text = axis.unit === 'date' ? bound.name : `${bound.name} ${format(bound.at, axis.unit)}`.trim();
    const at = boundAt(plot, chart, bound);
    const seen = at === null ? 'outside' : where(plot, bound, at);
    if (at === null || text === '' || seen === 'outside') continue;
    const colour = boundColour(bound, scheme);
    if (seen === 'above') write(`↑ ${text}`, above(frame), colour);
    else write(text, bound.along_x ? beside(at / px, frame) : along(at / px, frame), colour);
  }
  for (const band of chart.bands) {
    const [left, right] = across(plot, chart, band);
    if (band.name === '' || right - left < ctx.measureText(band.name).width + 12 * px) continue;
    write(band.name, within(left / px, right / px, frame), bandLook(band.tone, scheme)[0]);
  }
  ctx.restore();
}

/** The space taken by points with their intervals, and by vertical lines. */
function takenBy(plot: uPlot, chart: Chart, data: Data, hidden: ReadonlySet<number>): Taken[] {
  const { bbox } = plot;
  const px = ratio();
  const taken: Taken[] = [];
  const take = (x: number, half: number, top: number, bottom: number, bad: number) =>
    taken.push([{ left: x / px - half, right: x / px + half, top: top / px, bottom: bottom / px }, bad]);
  for (const bound of chart.bounds) {
    const at = bound.along_x ? boundAt(plot, chart, bound) : null;
    if (at !== null) take(at, 1, bbox.top, bbox.top + bbox.height, ON_LINE);
  }
  data.points.forEach((points, index) => {
    if (hidden.has(index)) return;
    points.forEach((point, row) => {
      const value = data.values[index]![row];
      if (!point || value === null || value === undefined) return;
      const [x, y] = [plot.valToPos(point.x, 'x', true), plot.valToPos(value, 'y', true)];
      take(x, 5, y - 5 * px, y + 5 * px, ON_MARK);
      if (point.low === null || point.high === null || (chart.y.log && point.low <= 0)) return;
      take(x, 3, plot.valToPos(point.high, 'y', true), plot.valToPos(point.low, 'y', true), ON_MARK);
    });
  });
  return taken;
}

function label(
  ctx: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  leftwards: boolean,
  colour: string,
  scheme: Scheme,
): void {
  const px = ratio();
  const width = ctx.measureText(text).width;
  ctx.fillStyle = clear(palette(scheme).ground, 0.75);
  ctx.fillRect(leftwards ? x - width - 2 * px : x - 2 * px, y - 10 * px, width + 4 * px, 13 * px);
  ctx.fillStyle = colour;
  ctx.textAlign = leftwards ? 'right' : 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.fillText(text, x, y);
}

/** Points with their intervals; the shape repeats the tone. */
export function drawPoints(
  plot: uPlot,
  chart: Chart,
  data: Data,
  hidden: ReadonlySet<number>,
  scheme: Scheme,
): void {
  const { ctx } = plot;
  const px = ratio();
  ctx.save();
  // A point on the edge is drawn whole.
  clip(plot, 7 * px);
  const shape = shapes(chart);
  data.points.forEach((points, index) => {
    if (hidden.has(index)) return;
    const looks = look(chart.series[index]!.role, scheme);
    if (isLine(chart.series[index]!)) {
      drawLine(plot, points, looks);
      return;
    }
    points.forEach((point, row) => {
      const value = data.values[index]![row];
      if (!point || value === null || value === undefined) return;
      const x = plot.valToPos(point.x, 'x', true);
      const y = plot.valToPos(value, 'y', true);
      const form = shape(index, point.tone);
      const colour = form.toned ? toneColour(point.tone, scheme) : looks.colour;
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.lineWidth = 1.5 * px;
      if (point.low !== null && point.high !== null && !(chart.y.log && point.low <= 0)) {
        const low = plot.valToPos(point.low, 'y', true);
        const high = plot.valToPos(point.high, 'y', true);
        const cap = 3 * px;
        // Measured values are drawn over their uncertainty.
        ctx.globalAlpha = 0.5;
        ctx.beginPath();
        ctx.moveTo(x, low);
        ctx.lineTo(x, high);
        for (const end of [low, high]) {
          ctx.moveTo(x - cap, end);
          ctx.lineTo(x + cap, end);
        }
        ctx.stroke();
        ctx.globalAlpha = 1;
      }
      ctx.save();
      ctx.translate(x, y);
      ctx.scale(px, px);
      ctx.lineWidth = 1.5;
      const path = new Path2D(form.path);
      if (!form.filled) ctx.fillStyle = palette(scheme).ground;
      ctx.fill(path);
      ctx.stroke(path);
      if (form.crossed) {
        ctx.strokeStyle = toneColour('bad', scheme);
        ctx.lineWidth = 2;
        ctx.stroke(new Path2D(CROSS));
      }
      ctx.restore();
    });
  });
  ctx.restore();
}

/** A line from point to point. */
function drawLine(plot: uPlot, points: readonly (Point | null)[], { colour, dash, width }: Look): void {
  const { ctx } = plot;
  const px = ratio();
  ctx.strokeStyle = colour;
  ctx.lineWidth = width * px;
  ctx.setLineDash(dash.map((length) => length * px));
  ctx.beginPath();
  for (const point of points) {
    if (point) ctx.lineTo(plot.valToPos(point.x, 'x', true), plot.valToPos(point.y, 'y', true));
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

/** The point nearest to the pointer, if any is near; or, given a row, the one in it. */
export function nearestPoint(
  plot: uPlot,
  data: Data,
  hidden: ReadonlySet<number>,
  row: number | null,
): { series: number; row: number } | null {
  const { left = -1, top = -1 } = plot.cursor;
  let found: { series: number; row: number } | null = null;
  let best = 40;
  data.points.forEach((points, series) => {
    if (hidden.has(series)) return;
    points.forEach((point, at) => {
      if (!point || (row !== null && at !== row)) return;
      const x = plot.valToPos(point.x, 'x') - left;
      const y = plot.valToPos(point.y, 'y') - top;
      const away = row === null ? Math.hypot(x, y) : 0;
      if (away < best) {
        best = away;
        found = { series, row: at };
      }
    });
  });
  return found;
}

/** Cells shaded by the logarithm of their count; an empty one stays empty. */
export function drawHeat(plot: uPlot, heat: Heat, scheme: Scheme): void {
  const { ctx, bbox } = plot;
  const height = heat.y.length - 1;
  const most = Math.log1p(largest(heat.counts));
  const floor = plot.scales.y?.min ?? 0;
  const rows = heat.y.map((edge) => Math.round(plot.valToPos(Math.max(edge, floor), 'y', true)));
  const columns = heat.x.map((edge) => Math.round(plot.valToPos(edge, 'x', true)));
  ctx.save();
  clip(plot);
  for (let column = 0; column + 1 < columns.length; column++) {
    const [left, right] = [columns[column]!, columns[column + 1]!];
    if (right < bbox.left || left > bbox.left + bbox.width) continue;
    for (let row = 0; row < height; row++) {
      const count = heat.counts[column * height + row] ?? 0;
      if (count === 0) continue;
      ctx.fillStyle = shade(most > 0 ? Math.log1p(count) / most : 1, scheme);
      ctx.fillRect(left, rows[row + 1]!, Math.max(1, right - left), Math.max(1, rows[row]! - rows[row + 1]!));
    }
  }
  ctx.restore();
}

export function largest(counts: readonly number[]): number {
  let most = 0;
  for (const count of counts) if (count > most) most = count;
  return most;
}

/** Clips to the axes, extended by `margin`, and by `above` more CSS pixels on top. */
function clip(plot: uPlot, margin = 0, above = 0): void {
  const { left, top, width, height } = plot.bbox;
  const up = margin + above * ratio();
  plot.ctx.beginPath();
  plot.ctx.rect(left - margin, top - up, width + 2 * margin, height + up + margin);
  plot.ctx.clip();
}
