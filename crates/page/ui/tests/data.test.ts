import { describe, expect, test } from 'vitest';
import { attempt, find, sheet } from '../samples/documents.mjs';
import { cellOf, chartData, heatColumn, marksAt, middles, nearestRow, phaseAt, stacked, timeRange } from '../src/chart/data';
import { barRange, barRows } from '../src/chart/parts';
import { chartTable } from '../src/chart/table';
import type { Chart, Document, Point } from '../src/document';
import { readDocument } from '../src/read';

const sample = (): Document => readDocument(find())!.document;
const chart = (id: string, from = sample()): Chart =>
  from.front.sections.flatMap((section) => section.charts).find((one) => one.id === id)!;
const plain = (text: string | undefined) => text?.replaceAll('\u00a0', ' ');

describe('what is drawn', () => {
  // Of a target that froze, the spike of a second stood half a second before the mark of what made it.
  test('of a chart over time stands in the middle of its rows, as marks stand where they happened', () => {
    const document = sample();
    const data = chartData(chart('rate', document), document.timeline);
    expect(data.from).toBe(document.timeline.at);
    expect(data.x.slice(0, 2)).toEqual([1.5, 2.5]);
    expect(middles({ at: [3, 4, 4.2, 10], columns: [] })).toEqual([3.5, 4.1, 7.1, 12.9]);
    expect(middles({ at: [3], columns: [] })).toEqual([3]);
    expect(data.values.map((values) => values.length)).toEqual([180, 180, 180]);
  });

  test('nothing where the timeline lacks a column', () => {
    const document = sample();
    const one = chart('rate', document);
    one.series[0]!.column = 'lost';
    const data = chartData(one, document.timeline);
    expect(data.values[0]!.every((value) => value === null)).toBe(true);
  });

  test('of points of several series is one list of places', () => {
    const at = (x: number, y: number): Point => ({ x, y, low: null, high: null, label: '', tone: 'plain' });
    const one = chart('knee');
    one.series[0]!.points = [at(2, 20), at(1, 10), at(2, 21)];
    one.series[1]!.points = [at(2, 200), at(3, 300)];
    const data = chartData(one, { at: [], columns: [] });
    expect(data.x).toEqual([1, 2, 2, 3]);
    expect(data.values).toEqual([
      [10, 20, 21, null],
      [null, 200, null, 300],
    ]);
  });

  test('of zero on a logarithmic axis is nothing', () => {
    const document = sample();
    const one = chart('response', document);
    document.timeline.columns.find((column) => column.id === 'response_p50')!.values[20] = 0;
    expect(chartData(one, document.timeline).values[0]![20]).toBeNull();
  });
});

test('areas lie on top of each other, and a hidden one adds nothing', () => {
  const values = [
    [1, null, null],
    [10, 20, null],
    [100, 200, null],
  ];
  expect(stacked(values, new Set())).toEqual([
    [1, 0, null],
    [11, 20, null],
    [111, 220, null],
  ]);
  expect(stacked(values, new Set([1]))[2]).toEqual([101, 200, null]);
});

describe('bars', () => {
  const [launch, handover] = readDocument(sheet())!.document.front.pictures;
  test('have their parts one after the other from zero', () => {
    const [first, second] = barRows(launch!);
    expect(first!.parts).toEqual([]);
    const ends = second!.parts.map(({ from, to }) => [from, to].map((end) => Number(end.toPrecision(6))));
    expect(ends).toEqual([
      [0, 48e-6],
      [48e-6, 1238e-6],
    ]);
    expect(barRows(handover!).map(({ value }) => value?.tone)).toEqual(['plain', 'warn']);
  });
  test('begin at zero, or on a logarithmic axis below the least', () => {
    expect(barRange(handover!, barRows(handover!))[0]).toBe(0);
    const [least, most] = barRange(launch!, barRows(launch!));
    expect(least).toBeCloseTo(4.75e-9, 12);
    expect(most).toBeGreaterThan(1.27e-3);
    expect(barRange(launch!, [])).toEqual([1, 10]);
  });
});

test('the nearest row with a value', () => {
  expect(nearestRow([null, 1, null, null, 2], 2)).toBe(1);
  expect(nearestRow([null, 1, null, null, 2], 3)).toBe(4);
  expect(nearestRow([null, null], 1)).toBe(1);
});

test('the phase of a moment', () => {
  const { phases } = sample().front;
  expect(phaseAt(phases, 40)?.label).toBe('trial 4: 320/s, bad');
  expect(phaseAt(phases, 48)).toBeNull();
});

test('the marks of a row are those that any of it holds', () => {
  const mark = (from: number, to: number) => ({ from, to, label: 'frozen', tone: 'bad' as const });
  const at = (row: number) => plain(marksAt([mark(2.5, 3.2), mark(9, 9.5)], [1, 2, 3, 4, 9], row));
  expect([0, 1, 2, 3, 4].map(at)).toEqual(['', 'frozen for 700 ms', 'frozen for 700 ms', '', 'frozen for 500 ms']);
});

test('all charts over time have one range, from the start to the middle of the last row, or further where something is shown', () => {
  const document = sample();
  expect(timeRange(document)).toEqual([0, 180.5]);
  document.front.phases.push({ from: 180, to: 240, label: 'drain', tone: 'plain' });
  expect(timeRange(document)).toEqual([0, 240]);
});

test('a column of a heat map', () => {
  const heat = { x: [0, 1, 2], y: [1, 2, 4, 8], counts: [0, 3, 1, 0, 0, 0] };
  expect(heatColumn(heat, 0)).toEqual({ total: 4, most: 1, lowest: 1, highest: 2 });
  expect(heatColumn(heat, 1).most).toBe(-1);
  expect(cellOf(heat.y, 2)).toBe(1);
  expect(cellOf(heat.y, 9)).toBe(-1);
});

describe('as a table', () => {
  test('a chart over time says what phase a row belongs to', () => {
    const document = sample();
    const { head, rows, left } = chartTable(chart('rate', document), document.timeline, document.front.phases);
    expect(head).toEqual(['time', 'offered', 'achieved', 'good', 'phase']);
    expect(rows.length + left).toBe(180);
    expect(rows.some((row) => row[1] === '320/s' && row[4] === 'trial 4: 320/s, bad')).toBe(true);
  });

  test('a chart with marks says which rows they are of', () => {
    const document = sample();
    const marks = [{ from: 40.2, to: 41.2, label: 'frozen', tone: 'bad' as const }];
    const { head, rows, text } = chartTable({ ...chart('rate', document), marks }, document.timeline, []);
    expect([head.at(-1), text]).toEqual(['mark', [4]]);
    expect(rows.filter((row) => row.at(-1) !== '').length).toBeGreaterThan(0);
  });

  test('points say what they are and what they mean', () => {
    const { head, rows, text } = chartTable(chart('knee'), { at: [], columns: [] }, []);
    expect(head).toEqual(['what', 'series', 'offered rate', 'response time', 'interval', 'meaning']);
    expect(text).toEqual([0, 1, 5]);
    expect(rows.at(-1)![5]).toBe('doubtful');
  });

  test('intervals', () => {
    const { head, rows } = chartTable(chart('effects'), { at: [], columns: [] }, []);
    expect(head).toEqual(['what', 'rate against now', 'interval', 'meaning']);
    expect(rows[2]!.map(plain)).toEqual(['one processor', '×0.87', '×0.81 – ×0.94', 'bad']);
  });

  test('a picture of rows says what became of each, and every start', () => {
    const [picture] = readDocument(attempt())!.document.front.pictures;
    const { head, rows, text } = chartTable(picture!, { at: [], columns: [] }, []);
    expect(head).toEqual(['what', 'series', 'ratio to the baseline', 'interval', 'meaning', 'note']);
    expect(text).toEqual([0, 1, 4, 5]);
    expect(rows[1]!.map(plain)).toEqual(['virtual threads', 'estimate', '×1.24', '×1.15 – ×1.34', 'better', 'gave first: a pool (4 of 4)']);
    expect(rows.length).toBe(4 + 5 * 4);
    expect(rows[4]!.slice(0, 3)).toEqual(['baseline, block 1', 'start', '×0.98']);
    expect(rows.at(-1)!).toEqual(['400 workers, block 4, void', 'start', '×1.04', '', 'doubtful', '']);
  });

  test('bars say what each is of, and their parts as they are', () => {
    const [picture] = readDocument(sheet())!.document.front.pictures;
    const { head, rows } = chartTable(picture!, { at: [], columns: [] }, []);
    expect(head).toEqual(['what', 'series', 'time (less is better)', 'interval', 'note']);
    expect(rows[1]!.map(plain).slice(0, 4)).toEqual(['fork, 64 MiB', 'measured', '1.24 ms', '1.19 ms – 1.28 ms']);
    expect(rows.at(-1)!.map(plain)).toEqual(['fork, 64 MiB: 16,384 pages × 72.9 ns', 'part', '1.19 ms', '', '']);
  });

  test('a heat map says how many, and where', () => {
    const one = chart('heat');
    one.heat = { x: [0, 1, 2], y: [0.001, 0.002, 0.004], counts: [5, 1, 0, 0] };
    const { rows } = chartTable(one, { at: [], columns: [] }, []);
    expect(rows[0]!.map(plain)).toEqual(['0 s', '6', '1 ms – 2 ms', '1 ms – 2 ms', '2 ms – 4 ms']);
    expect(rows[1]!.map(plain)).toEqual(['1 s', '0', '–', '–', '–']);
  });
});
