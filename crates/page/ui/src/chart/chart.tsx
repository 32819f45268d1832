/** A chart with its heading, legend and figures as a table. It is drawn only when it first becomes visible. */

import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { overTime, type Chart, type Phase, type Timeline } from '../document';
import { isPrinting, onPrint, PRINT_WIDTH } from '../print';
import { onScheme } from '../theme';
import { Grid } from '../table';
import { whole } from '../text';
import { Bars } from './bars';
import { chartData } from './data';
import { Group } from './group';
import { Intervals } from './intervals';
import { Legend, reading, spoken } from './legend';
import { Plot, type At, type Drawn } from './plot';
import { chartTable, isAlong } from './table';

interface Props {
  chart: Chart;
  timeline: Timeline;
  phases: readonly Phase[];
  /** The group of charts over time. */
  group: Group;
}

/** A key of the chart that stays the same if only its figures change. */
function shapeOf(chart: Chart): string {
  const series = chart.series.map(({ name, role, column }) => [name, role, column]);
  return JSON.stringify([chart.form, chart.x, chart.y, series]);
}

export function ChartView({ chart, timeline, phases, group }: Props): JSX.Element {
  const [asTable, setAsTable] = useState(false);
  const data = useMemo(() => chartData(chart, timeline), [chart, timeline]);
  const drawn = { chart, data, phases };
  const title = `chart-${chart.id}`;
  const empty = data.x.length === 0;
  return (
    <figure class="chart" id={title} aria-labelledby={`${title}-title`}>
      <header>
        <h3 id={`${title}-title`}>{chart.title}</h3>
        <button
          type="button"
          class="quiet"
          aria-expanded={asTable}
          aria-controls={`${title}-table`}
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? 'hide table' : 'table'}
          <span class="unseen"> of figures: {chart.title}</span>
        </button>
      </header>
      {chart.note !== '' && <p class="note">{whole(chart.note)}</p>}
      {empty ? (
        <p class="nothing">Nothing to draw: no figures were measured for it.</p>
      ) : chart.form === 'intervals' ? (
        <Intervals chart={chart} />
      ) : chart.form === 'bars' ? (
        <Bars chart={chart} />
      ) : (
        <Canvas key={shapeOf(chart)} drawn={drawn} group={group} />
      )}
      <div id={`${title}-table`} class="figures">
        {asTable && <Figures chart={chart} timeline={timeline} phases={phases} />}
      </div>
    </figure>
  );
}

function Figures({ chart, timeline, phases }: Omit<Props, 'group'>): JSX.Element {
  const figures = chartTable(chart, timeline, phases);
  return (
    <>
      <Grid
        label={`${chart.title}, figures`}
        head={figures.head}
        text={[...figures.text, ...(isAlong(chart) || chart.form === 'points' ? [] : [0])]}
        rows={figures.rows}
      />
      {figures.left > 0 && (
        <p class="faint">
          {figures.rows.length} of {figures.rows.length + figures.left} rows; the smallest and the largest value of each
          column are among them.
        </p>
      )}
    </>
  );
}

/** The canvas, with cursor and keys. */
function Canvas({ drawn, group: shared }: { drawn: Drawn; group: Group }): JSX.Element {
  const { chart, data } = drawn;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const drawNow = useRef(() => {});
  const state = useRef({ drawn, hidden: new Set<number>() as ReadonlySet<number>, visible: false, stale: false });
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set<number>());
  const [at, setAt] = useState<At | null>(null);
  const [, recoloured] = useState(0);
  const group = useMemo(() => (overTime(chart) ? shared : new Group(`alone-${chart.id}`, null)), [shared]);

  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const now = state.current;
    const draw = () => {
      if (plot.current) {
        if (now.stale) plot.current.update(now.drawn);
      } else {
        plot.current = new Plot(element, now.drawn, now.hidden, group, (at) => {
          if (now.visible || document.activeElement === element) setAt(at);
        });
      }
      now.stale = false;
    };
    drawNow.current = draw;
    const seen = new IntersectionObserver(
      ([entry]) => {
        now.visible = entry?.isIntersecting === true;
        if (now.visible) draw();
      },
      { rootMargin: '100px' },
    );
    seen.observe(element);
    const sized = new ResizeObserver(() => !isPrinting() && plot.current?.resize(element.clientWidth));
    sized.observe(element);
    const ends = [
      () => seen.disconnect(),
      () => sized.disconnect(),
      onScheme(() => recoloured((n) => n + 1)),
      onPrint((printing) => {
        if (printing) draw();
        plot.current?.resize(printing ? PRINT_WIDTH : element.clientWidth);
      }),
    ];
    return () => {
      for (const end of ends) end();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [group]);

  useLayoutEffect(() => {
    const now = state.current;
    if (now.drawn.data === drawn.data && now.drawn.phases === drawn.phases && now.drawn.chart === drawn.chart) return;
    now.drawn = drawn;
    now.stale = true;
    if (now.visible && plot.current) {
      plot.current.update(drawn);
      now.stale = false;
    }
  });

  const toggle = (series: number) => {
    const next = new Set(hidden);
    if (!next.delete(series)) next.add(series);
    state.current.hidden = next;
    setHidden(next);
    plot.current?.hide(next);
  };

  const pressed = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      ArrowLeft: () => plot.current?.step(event.shiftKey ? -10 : -1),
      ArrowRight: () => plot.current?.step(event.shiftKey ? 10 : 1),
      ArrowDown: () => plot.current?.step(-1),
      ArrowUp: () => plot.current?.step(1),
      PageDown: () => plot.current?.step(-10),
      PageUp: () => plot.current?.step(10),
      Home: () => plot.current?.jump(false),
      End: () => plot.current?.jump(true),
      '+': () => plot.current?.magnify(0.5),
      '=': () => plot.current?.magnify(0.5),
      '-': () => plot.current?.magnify(2),
      Escape: () => group.zoom(null),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    // A keyboard user may be faster than the visibility observer.
    drawNow.current();
    act();
  };

  return (
    <>
      <p class="above">
        <span>{chart.y.name}</span>
        <span class="reading">{reading(drawn, at)}</span>
      </p>
      <div
        ref={host}
        class="plot"
        tabIndex={0}
        role="slider"
        aria-label={`${chart.title}: arrow keys move the cursor, plus and minus zoom, Escape shows all`}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, data.x.length - 1)}
        aria-valuenow={at?.row ?? 0}
        aria-valuetext={spoken(drawn, at, hidden)}
        onKeyDown={pressed}
      />
      <Legend drawn={drawn} at={at} hidden={hidden} toggle={toggle} />
    </>
  );
}
