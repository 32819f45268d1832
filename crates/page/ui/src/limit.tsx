/** A run's limit in a list: a small picture, and the limits of similar runs over time. */

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { ChartView } from './chart/chart';
import { Group } from './chart/group';
import type { Limit, Listed, Phase, Timeline } from './document';
import { type Axis, decades, limitChart, middle, placeOn } from './limits';

const WIDTH = 120;
const HEIGHT = 16;
/** Margin so that a mark at the axis's end is not clipped. */
const SIDE = 3;

/**
 * The limit as a tick within its interval. A limit known only from below has no interval but an arrow, since a bar up to the end
 * of the axis would look like its uncertainty, or like room that is left.
 */
export function LimitPicture({ limit, axis, words }: { limit: Limit; axis: Axis; words: string }): JSX.Element {
  const at = (value: number) => SIDE + placeOn(axis, value) * (WIDTH - 2 * SIDE);
  const { lower, upper } = limit;
  const centre = middle(limit);
  const [left, right] = [at(lower ?? axis.from), at(upper ?? centre ?? axis.from)];
  const tick = centre === null ? null : at(centre);
  return (
    <svg class="limit" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words}>
      <line class="axis" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      {decades(axis).map((step) => (
        <line key={step} class="axis" x1={at(step)} x2={at(step)} y1="3" y2={HEIGHT - 3} />
      ))}
      {upper !== null && <rect class="interval" x={left} y="4" width={Math.max(1, right - left)} height={HEIGHT - 8} />}
      {tick !== null && <line class="middle" x1={tick} x2={tick} y1="1" y2={HEIGHT - 1} />}
      {tick !== null && upper === null && <path class="more" d={`M${Math.min(tick + 2, WIDTH - 5)} ${HEIGHT / 2 - 4}l5 4l-5 4z`} />}
    </svg>
  );
}

const NO_TIMELINE: Timeline = { at: [], columns: [] };
const NO_PHASES: Phase[] = [];

/** For runs that are alike, oldest first. */
export function LimitHistory({ runs }: { runs: readonly Listed[] }): JSX.Element {
  const group = useMemo(() => new Group('limit', null), []);
  const chart = useMemo(() => limitChart(runs), [runs]);
  return (
    <>
      <h2 class="unseen">Over time</h2>
      <ChartView chart={chart} timeline={NO_TIMELINE} phases={NO_PHASES} group={group} />
    </>
  );
}
