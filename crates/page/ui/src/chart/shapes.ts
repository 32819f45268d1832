/** Shapes of points as paths around zero, the same on a canvas and in a legend. */

import type { Chart, Series, Tone } from '../document';

/** One for each series, if there are several. */
export const OUTLINES = [
  'M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0Z',
  'M-3.5-3.5H3.5V3.5H-3.5Z',
  'M0-5 5 0 0 5-5 0Z',
  'M-4.5-3.5H4.5L0 4.5Z',
  'M-1.5-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z',
];

export const CROSS = 'M-4-4 4 4M-4 4 4-4';
export const TRIANGLE = 'M0-5 4.5 4H-4.5Z';

/** The tones that are judgements. */
export const JUDGED = ['good', 'bad', 'warn'] as const;

export function judged(tone: Tone): boolean {
  return JUDGED.some((one) => one === tone);
}

export interface Shape {
  path: string;
  filled: boolean;
  /** With a cross over it. */
  crossed: boolean;
  /** It has the colour of its tone, not of its series. */
  toned: boolean;
}

/** Points with neither names nor intervals form a line, straight from one to the next. */
export function isLine(series: Series): boolean {
  return series.points.length > 0 && series.points.every((point) => point.label === '' && point.low === null);
}

/**
 * For a single series, or the only one with a single tone: round and filled for good, a cross for bad, a triangle for doubtful.
 * Other series have an outline each, filled for good and crossed for bad.
 */
export function shapes(chart: Chart): (series: number, tone: Tone) => Shape {
  const dots = chart.series.map((series) => (isLine(series) ? null : series));
  const alone = dots.filter((series) => series !== null).length === 1;
  const tones = dots.map((series) => {
    const all = new Set(series?.points.map((point) => point.tone));
    return all.size === 1 ? [...all][0]! : null;
  });
  const says = (series: number, tone: Tone) =>
    alone || (tones[series] === tone && tones.filter((other) => other === tone).length === 1);
  return (series, tone) => {
    const outline = OUTLINES[series % OUTLINES.length]!;
    if (!judged(tone) || !says(series, tone)) {
      return { path: outline, filled: tone === 'good' || tone === 'strong', crossed: tone === 'bad', toned: false };
    }
    if (tone === 'bad') return { path: '', filled: false, crossed: true, toned: true };
    return { path: tone === 'good' ? OUTLINES[0]! : TRIANGLE, filled: true, crossed: false, toned: true };
  };
}

/** The legend of points with different meanings, and which series are drawn so. */
export function keys(chart: Chart): { tone: Tone; series: number[] }[] {
  const shape = shapes(chart);
  const tones = chart.series.map((series) => new Set(isLine(series) ? [] : series.points.map((point) => point.tone)));
  const several = tones.findIndex((own) => own.size > 1);
  // All good needs no key; all hollow does, unless the series' name says it.
  const mixed = several >= 0 ? several : tones.findIndex((own, series) => own.has('warn') && !shape(series, 'warn').toned);
  const told = JUDGED.filter((tone) => tones[mixed]?.has(tone));
  return told.map((tone) => {
    const alike = (index: number) => tones[index]!.has(tone) && shape(index, tone).toned === shape(mixed, tone).toned;
    return { tone, series: chart.series.flatMap((_, index) => (alike(index) ? index : [])) };
  });
}
