/** One chart on a canvas: what uPlot draws of its series, and what is drawn by hand around them. */

import uPlot from 'uplot';
import { overTime, type Chart, type Phase } from '../document';
import { look, palette } from '../palette';
import { onScheme, scheme } from '../theme';
import { formatTick } from '../format';
import { driftRange, niceRange, ticks } from '../ticks';
import { nearestRow, stacked, type Data } from './data';
import type { Group, Range } from './group';
import { hatched } from './hatch';
import { drawBands, drawBounds, drawHeat, drawMarks, drawNames, drawPhases, drawPoints, nearestPoint, ratio } from './marks';
import { onTouch } from './touch';

/** Minimum share of the axis for what is open to the right. */
const BEYOND = 0.12;
/** And on a narrow axis, the pixels that a name needs. */
const NAMED = 100;

/** Where the cursor is. */
export interface At {
  row: number;
  /** The row to read for each series. */
  rows: number[];
  /** Vertical position, if the pointer is over this very chart. */
  y: number | null;
  /** In a chart of points, the one under the pointer. */
  point: { series: number; row: number } | null;
}

export interface Drawn {
  chart: Chart;
  data: Data;
  phases: readonly Phase[];
}

const FONT = '11px system-ui, sans-serif';

export class Plot {
  private plot: uPlot;
  private ends: (() => void)[] = [];

  constructor(
    private readonly host: HTMLElement,
    private drawn: Drawn,
    private hidden: ReadonlySet<number>,
    private readonly group: Group,
    private readonly moved: (at: At | null) => void,
  ) {
    this.plot = this.made();
    this.ends.push(
      group.onZoom(() => this.range()),
      onScheme(() => this.plot.redraw(false)),
    );
  }

  /** New figures for the same chart. */
  update(drawn: Drawn): void {
    this.drawn = drawn;
    this.plot.setData(this.lines(), true);
    this.range();
  }

  /** Shows all series but these. */
  hide(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    const width = this.plot.width;
    this.plot.destroy();
    this.plot = this.made(width);
  }

  resize(width: number): void {
    if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.plot.height });
  }

  destroy(): void {
    for (const end of this.ends) end();
    this.plot.destroy();
  }

  /** Moves the cursor by this many rows, starting at the first or last if it is nowhere yet. */
  step(by: number): void {
    if (this.drawn.data.x.length === 0) return;
    const [first, last] = this.shown();
    const now = this.plot.cursor.idx ?? null;
    const off = now === null || (this.plot.cursor.left ?? -1) < 0;
    this.moveTo(Math.min(last, Math.max(first, off ? (by > 0 ? first : last) : now + by)));
  }

  /** Moves the cursor to the first or last visible row. */
  jump(toLast: boolean): void {
    const [first, last] = this.shown();
    this.moveTo(toLast ? last : first);
  }

  /** Zooms around the cursor, to half or twice the range. */
  magnify(factor: number): void {
    const { min, max } = this.plot.scales.x!;
    const x = this.drawn.data.x;
    if (min === undefined || max === undefined || min === null || max === null || this.drawn.chart.x.log) return;
    const middle = x[this.plot.cursor.idx ?? -1] ?? (min + max) / 2;
    const half = ((max - min) * factor) / 2;
    this.show([middle - half, middle + half]);
  }

  /** Shows a range as far as there is data. */
  private show(range: Range): void {
    const full = this.full();
    const from = Math.max(full[0], range[0]);
    const to = Math.min(full[1], range[1]);
    this.group.zoom(from <= full[0] && to >= full[1] ? null : [from, to]);
  }

  private moveTo(row: number): void {
    this.moveCursor(this.plot.valToPos(this.drawn.data.x[row]!, 'x'));
  }

  private moveCursor(left: number): void {
    // uPlot's types omit that charts of the same group can be made to follow.
    const move = this.plot.setCursor as (at: { left: number; top: number }, tell: boolean, follow: boolean) => void;
    move({ left, top: this.plot.bbox.height / ratio() / 2 }, true, true);
  }

  /** The first and the last visible row. */
  private shown(): [number, number] {
    const x = this.drawn.data.x;
    const { min, max } = this.plot.scales.x!;
    const first = x.findIndex((at) => at >= (min ?? Number.NEGATIVE_INFINITY));
    const last = x.findLastIndex((at) => at <= (max ?? Number.POSITIVE_INFINITY));
    return first < 0 || last < first ? [0, x.length - 1] : [first, last];
  }

  private range(): void {
    const [min, max] = this.group.range ?? this.full();
    this.plot.batch(() => {
      this.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.plot.setScale('x', { min, max });
    });
  }

  /** The full horizontal range of the data. */
  private full(): [number, number] {
    if (this.group.full) return this.group.full;
    const { chart, data } = this.drawn;
    if (chart.heat && chart.form === 'heat' && chart.heat.x.length > 1) {
      return [chart.heat.x[0]!, chart.heat.x.at(-1)!];
    }
    let least = data.x[0] ?? Number.POSITIVE_INFINITY;
    let most = data.x.at(-1) ?? Number.NEGATIVE_INFINITY;
    for (const bound of chart.bounds.filter((bound) => bound.along_x && (!chart.x.log || bound.at > 0))) {
      least = Math.min(least, bound.at);
      most = Math.max(most, bound.at);
    }
    for (const { name, from, to } of chart.bands) {
      if (from === null || to !== null) continue;
      const share = name === '' ? BEYOND : Math.max(BEYOND, NAMED / this.host.clientWidth);
      most = Math.max(most, chart.x.log ? from * (from / least) ** share : from * (1 + share));
    }
    if (chart.x.unit === 'percentile') return [Math.max(1, Number.isFinite(least) ? least : 1), Math.max(most, 10)];
    if (chart.x.unit === 'date') {
      const air = (most - least) * 0.03 || 3600;
      return [least - air, most + air];
    }
    return niceRange(chart.x.log, least, most);
  }

  /** The vertical range of the visible data; bounds are included unless far away. */
  private upwards(plot: uPlot, min: number | null, max: number | null): [number, number] {
    const { chart, data } = this.drawn;
    if (chart.form === 'heat') return heatRange(chart);
    let least = min ?? Number.POSITIVE_INFINITY;
    let most = max ?? Number.NEGATIVE_INFINITY;
    const include = (value: number | null) => {
      if (value === null || (chart.y.log && value <= 0)) return;
      least = Math.min(least, value);
      most = Math.max(most, value);
    };
    const { min: from, max: to } = plot.scales.x ?? {};
    data.points.forEach((points, index) => {
      if (this.hidden.has(index)) return;
      for (const point of points) {
        if (!point || point.x < (from ?? Number.NEGATIVE_INFINITY) || point.x > (to ?? Number.POSITIVE_INFINITY)) continue;
        include(point.low);
        include(point.high);
      }
    });
    if (chart.form === 'stack') include(0);
    const near = (at: number) =>
      !Number.isFinite(most) || (chart.y.log ? at <= most * 10 && at >= least / 10 : at <= most * 2.5);
    for (const bound of chart.bounds) if (!bound.along_x && near(bound.at)) include(bound.at);
    if (chart.x.unit === 'date' && Number.isFinite(most)) return driftRange(least, most);
    return niceRange(chart.y.log, least, most);
  }

  private lines(): uPlot.AlignedData {
    const { chart, data } = this.drawn;
    const values = chart.form === 'stack' ? stacked(data.values, this.hidden) : data.values;
    return [data.x, ...values] as uPlot.AlignedData;
  }

  private made(width = this.host.clientWidth): uPlot {
    const plot = new uPlot(this.options(width || 600), this.lines(), this.host);
    // Drawn immediately: a key pressed meanwhile asks for positions.
    plot.batch(() => {});
    // Its listeners go with the element.
    onTouch(plot.over, {
      width: () => plot.over.clientWidth,
      range: () => this.group.range ?? this.full(),
      log: () => this.drawn.chart.x.log,
      moveTo: (left) => this.moveCursor(left),
      zoom: (range) => this.show(range),
    });
    return plot;
  }

  private options(width: number): uPlot.Options {
    const { chart } = this.drawn;
    const time = overTime(chart);
    const points = chart.form === 'points';
    return {
      width,
      height: this.host.clientHeight || 220,
      padding: [12, 14, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 5 },
        // The cursor is synchronised; a selected range reaches other charts through the group.
        sync: time
          ? {
              key: this.group.key,
              setSeries: false,
              scales: ['x', null],
              filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave' },
            }
          : undefined,
        bind: { dblclick: () => () => (this.group.zoom(null), null) },
        points: { show: !points && chart.form !== 'heat', size: 7 },
        dataIdx: (_, series, row) =>
          this.drawn.data.measured || series === 0 ? row : nearestRow(this.drawn.data.values[series - 1] ?? [], row),
      },
      scales: {
        x: {
          time: false,
          distr: chart.x.log ? 3 : 1,
          range: () => this.group.range ?? this.full(),
        },
        y: { distr: chart.y.log ? 3 : 1, range: (plot, min, max) => this.upwards(plot, min, max) },
      },
      axes: [this.axis('x', width), this.axis('y', width)],
      series: [{}, ...this.series()],
      bands:
        chart.form === 'stack'
          ? chart.series.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] }))
          : [],
      hooks: {
        drawClear: [
          (plot) => {
            const { chart, phases } = this.drawn;
            if (time) drawPhases(plot, phases, scheme());
            drawBands(plot, chart, scheme());
            if (chart.form === 'heat' && chart.heat) drawHeat(plot, chart.heat, scheme());
          },
        ],
        draw: [
          (plot) => {
            const { chart, data } = this.drawn;
            if (points) drawPoints(plot, chart, data, this.hidden, scheme());
            drawBounds(plot, chart, scheme());
            if (time) drawMarks(plot, chart.marks, scheme());
            drawNames(plot, chart, data, this.hidden, scheme());
          },
        ],
        setCursor: [(plot) => this.moved(this.at(plot))],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width <= 0) return;
            this.group.zoom([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
          },
        ],
      },
    };
  }

  private axis(side: 'x' | 'y', width: number): uPlot.Axis {
    const axis = this.drawn.chart[side];
    const upright = side === 'y';
    const colours = () => palette(scheme());
    const room = (plot: uPlot) => {
      const length = (upright ? plot.bbox.height : plot.bbox.width) / ratio();
      return Math.max(2, Math.floor(length / (upright ? 34 : 72)));
    };
    return {
      scale: side,
      font: FONT,
      size: upright ? (width < 480 ? 58 : 66) : 24,
      gap: 4,
      stroke: () => colours().faint,
      grid: { stroke: () => colours().grid, width: 1 },
      ticks: { stroke: () => colours().rule, width: 1, size: 4 },
      splits: (plot, _, min, max) => ticks(axis.unit, axis.log, min, max, room(plot)),
      filter: (_, splits) => splits,
      values: (_, splits) => splits.map((split) => formatTick(split, axis.unit)),
      ...(upright || axis.unit === 'time'
        ? {}
        : { label: axis.name, labelFont: FONT, labelSize: 16, labelGap: 0 }),
    };
  }

  private series(): uPlot.Series[] {
    const { chart, data } = this.drawn;
    if (chart.form === 'heat') return [{ show: true, stroke: 'transparent', paths: () => null }];
    return chart.series.map((series, index) => {
      const looks = () => look(series.role, scheme());
      const own: uPlot.Series = {
        label: series.name,
        show: !this.hidden.has(index),
        stroke: () => looks().colour,
        width: looks().width,
        dash: [...looks().dash],
        spanGaps: !data.measured,
      };
      if (chart.form === 'stack') {
        own.width = 1;
        own.dash = [];
        own.fill = () => hatched(looks().colour, looks().hatch, ratio());
        // An area of a single row has no width.
        own.points = { show: false, size: 4, fill: () => looks().colour, filter: () => lonely(data.values) };
      } else if (chart.form === 'points') {
        own.paths = () => null;
        own.points = { show: false };
      } else {
        // A value without neighbours has no line: it is drawn as a point.
        own.points = { size: 5, fill: () => looks().colour, filter: (_, i, show) => (show || !data.measured ? null : lonely([data.values[i - 1] ?? []])) };
      }
      return own;
    });
  }

  private at(plot: uPlot): At | null {
    const { idx: row, left = -1 } = plot.cursor;
    if (row === null || row === undefined || left < 0) return null;
    const own = this.host.matches(':hover');
    const { chart, data } = this.drawn;
    const rows = chart.series.map((_, index) => plot.cursor.idxs?.[index + 1] ?? row);
    const y = own ? plot.posToVal(plot.cursor.top ?? 0, 'y') : null;
    const point = chart.form === 'points' ? nearestPoint(plot, data, this.hidden, own ? null : row) : null;
    return { row: point?.row ?? row, rows, y, point };
  }
}

/** Rows with a value but without neighbours: no line leads there. */
function lonely(columns: (number | null)[][]): number[] | null {
  const has = (row: number) => columns.some((values) => (values[row] ?? null) !== null);
  const alone: number[] = [];
  for (let row = 0; row < (columns[0]?.length ?? 0); row++) if (has(row) && !has(row - 1) && !has(row + 1)) alone.push(row);
  return alone.length > 0 ? alone : null;
}

function heatRange(chart: Chart): [number, number] {
  const edges = chart.heat?.y ?? [];
  if (edges.length < 2) return chart.y.log ? [1, 10] : [0, 1];
  const low = chart.y.log && edges[0]! <= 0 ? edges[1]! / 2 : edges[0]!;
  return [low, edges.at(-1)!];
}

