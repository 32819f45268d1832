/** A flame graph: the root on top, its callees below it; by mouse and by keyboard, and as a table. */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useWidth } from './chart/width';
import type { Flame } from './document';
import { boxes, calls, more, neighbour, search, type Call, type Side, weight } from './flame';
import { digits, grouped } from './format';
import { palette } from './palette';
import { Grid } from './table';
import { scheme } from './theme';

const LINE = 18;
const LETTER = 6.6;
/** Narrower boxes, in pixels, are not drawn. */
const LEAST = 2;
/** Rows of the table: those with most samples. */
const ROWS = 200;
/** A difference of this share has the full colour. */
const FULL = 0.1;

export function FlameView({ flame }: { flame: Flame }): JSX.Element {
  const [side, setSide] = useState<Side>('first');
  const [zoomed, setZoomed] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number>(0);
  const [letters, setLetters] = useState('');
  const [asTable, setAsTable] = useState(false);
  const [host, width] = useWidth();
  const all = useMemo(() => calls(flame), [flame]);
  const at = zoomed !== null && zoomed < all.length ? zoomed : null;
  const seen = boxes(all, flame, side, at, LEAST / width);
  const { found, samples } = search(all, letters, side);
  const whole = side === 'beside' ? flame.beside : flame.samples;
  const percent = (count: number) => `${digits((100 * count) / Math.max(1, whole))} %`;
  const deepest = seen.reduce((most, { call }) => Math.max(most, call.depth), 0);
  const current = all[chosen] ?? all[0];
  const colours = palette(scheme());
  const fill = (call: Call) => {
    if (side === 'difference') return more(call, flame) > 0 ? colours.bad : colours.focus;
    return call.module < 0 ? colours.neutral : colours.series[call.module % colours.series.length]!;
  };
  const opacity = (call: Call) => (side === 'difference' ? 0.06 + 0.44 * Math.min(1, Math.abs(more(call, flame)) / FULL) : 0.32);
  const points = (call: Call) => `${more(call, flame) >= 0 ? '+' : '−'}${digits(Math.abs(100 * more(call, flame)))}`;
  const label = (call: Call) => (side === 'difference' ? `${points(call)}  ${call.name}` : call.name);
  const told = (call: Call) => {
    const module = flame.modules[call.module];
    const of = `${call.name}${module ? ` (${module})` : call.module < 0 ? ' (thread)' : ''}: ${percent(weight(call, side))}`;
    return flame.beside_name === null ? of : `${of}; ${points(call)} points from ${flame.beside_name} to ${flame.name}`;
  };
  const zoom = (to: number | null) => {
    setZoomed(to);
    if (to !== null) setChosen(to);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key.startsWith('Arrow')) {
      const next = neighbour(all, current?.at ?? 0, event.key, side);
      if (next !== null) setChosen(next);
      // Brings a hidden call into view.
      if (next !== null && !seen.some(({ call }) => call.at === next)) setZoomed(all[next]!.caller);
    } else if (event.key === 'Enter' || event.key === ' ') zoom(current?.at ?? null);
    else if (event.key === 'Escape' || event.key === 'Backspace') zoom(null);
    else return;
    event.preventDefault();
  };
  const title = `flame-${flame.id}`;
  const sides: [Side, string][] = [
    ['first', flame.name],
    ['beside', flame.beside_name ?? ''],
    ['difference', 'difference'],
  ];
  return (
    <figure class="chart flame" aria-labelledby={`${title}-title`}>
      <header>
        <h3 id={`${title}-title`}>{flame.title}</h3>
        <button type="button" class="quiet" aria-expanded={asTable} aria-controls={`${title}-table`} onClick={() => setAsTable(!asTable)}>
          {asTable ? 'hide table' : 'table'}
          <span class="unseen"> of figures: {flame.title}</span>
        </button>
      </header>
      <p class="note">{flame.note}</p>
      <div class="by">
        {flame.beside_name !== null &&
          sides.map(([which, name]) => (
            <button key={which} type="button" aria-pressed={side === which} onClick={() => setSide(which)}>
              {name}
            </button>
          ))}
        <label>
          <span class="unseen">Search functions</span>
          <input type="search" placeholder="search functions" value={letters} onInput={(event) => setLetters(event.currentTarget.value)} />
        </label>
        {at !== null && (
          <button type="button" onClick={() => zoom(null)}>
            show all
          </button>
        )}
        <span role="status" class="faint">
          {letters.trim() === '' ? '' : `${grouped(found.size)} found, with ${percent(samples)} of the samples`}
        </span>
      </div>
      <div ref={host}>
        <svg
          width={width}
          height={(deepest + 1) * LINE}
          viewBox={`0 0 ${width} ${(deepest + 1) * LINE}`}
          tabindex={0}
          role="application"
          aria-label={`${flame.title}; arrows move, Enter zooms, Escape shows all`}
          aria-describedby={`${title}-told`}
          onKeyDown={pressed}
        >
          {seen.map(({ call, from, share }) => {
            const [x, wide, y] = [from * width, Math.max(LEAST, share * width), call.depth * LINE];
            const room = Math.floor((wide - 6) / LETTER);
            const name = label(call);
            const dim = letters.trim() !== '' && !found.has(call.at);
            return (
              <g key={call.at} class={`${dim ? 'dim' : ''} ${call.at === current?.at ? 'chosen' : ''}`} onClick={() => zoom(call.at === at ? call.caller : call.at)}>
                <title>{told(call)}</title>
                <rect x={x} y={y} width={Math.max(0.5, wide - 1)} height={LINE - 1} fill={fill(call)} fill-opacity={opacity(call)} stroke={fill(call)} stroke-opacity={0.7} stroke-width={found.has(call.at) ? 2 : 0.5} />
                {room >= 3 && (
                  <text x={x + 3} y={y + 13}>
                    {name.length > room ? `${name.slice(0, room - 1)}…` : name}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
      <p id={`${title}-told`} class="told" role="status">
        {current === undefined ? '' : told(current)}
      </p>
      {side !== 'difference' && (
        <ul class="modules" aria-hidden="true">
          {flame.modules.map((name, module) =>
            name === '' ? null : (
              <li key={module}>
                <svg width="12" height="12">
                  <rect width="12" height="12" fill={colours.series[module % colours.series.length]} fill-opacity={0.5} />
                </svg>
                {name}
              </li>
            ),
          )}
        </ul>
      )}
      <div id={`${title}-table`} class="figures">
        {asTable && (
          <Grid
            label={`${flame.title}, figures`}
            head={['callers', 'function', flame.name || 'samples', ...(flame.beside_name === null ? [] : [flame.beside_name, 'more']), 'module']}
            text={flame.beside_name === null ? [1, 3] : [1, 5]}
            rows={[...all]
              .sort((a, b) => b.samples - a.samples)
              .slice(0, ROWS)
              .map((call) => [
                String(call.depth),
                call.name,
                `${digits((100 * call.samples) / Math.max(1, flame.samples))} %`,
                ...(flame.beside_name === null ? [] : [`${digits((100 * call.beside) / Math.max(1, flame.beside))} %`, points(call)]),
                flame.modules[call.module] ?? 'thread',
              ])}
          />
        )}
      </div>
    </figure>
  );
}
