import { expect, test } from 'vitest';
import { isLine, keys, shapes } from '../src/chart/shapes';
import type { Chart, Point, Series, Tone } from '../src/document';

const point = (tone: Tone, label = 'trial'): Point => ({ x: 1, y: 1, low: null, high: null, label, tone });
const series = (...points: Point[]): Series => ({ name: '', role: 'good', column: null, points });
const chart = (...all: Series[]): Chart => {
  const axis = { name: '', unit: 'count' as const, log: false };
  return { id: '', title: '', note: '', form: 'points', x: axis, y: axis, series: all, bounds: [], bands: [], rows: [], heat: null, marks: [], hollow: '' };
};

test('points without names are places of a line', () => {
  expect(isLine(series(point('good', ''), point('bad', '')))).toBe(true);
  expect(isLine(series(point('good', ''), point('bad')))).toBe(false);
  expect(isLine(series())).toBe(false);
});

test('what a point means can be seen without its colour', () => {
  const shape = shapes(chart(series(point('good'), point('bad'), point('warn'), point('plain'))));
  const seen = (['good', 'bad', 'warn', 'plain'] as const).map((tone) => JSON.stringify(shape(0, tone)));
  expect(new Set(seen).size).toBe(4);
});

test('series can be told apart without their colour, and so can what their points mean', () => {
  const mixed = () => series(point('good'), point('bad'));
  const shape = shapes(chart(mixed(), mixed()));
  const seen = [0, 1].flatMap((index) => (['good', 'bad', 'plain'] as const).map((tone) => JSON.stringify(shape(index, tone))));
  expect(new Set(seen).size).toBe(6);
});

test('a series that is all of one tone has the shape of that tone, lines beside it or not', () => {
  const shape = shapes(chart(series(point('good', '')), series(point('good')), series(point('bad'))));
  expect(shape(1, 'good').toned).toBe(true);
  expect(shape(2, 'bad').toned).toBe(true);
});

/** Three series of coloured marks had a key of one grey circle. */
test('what points mean is told by the marks of every series that has such points', () => {
  const trials = () => series(point('good'), point('bad'));
  expect(keys(chart(trials(), trials(), series(point('good'))))).toEqual([
    { tone: 'good', series: [0, 1] },
    { tone: 'bad', series: [0, 1] },
  ]);
  expect(keys(chart(series(point('good', ''), point('bad', '')), trials()))[0]).toEqual({ tone: 'good', series: [1] });
  expect(keys(chart(series(point('good')), series(point('good'))))).toEqual([]);
});
