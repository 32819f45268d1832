/** Which part of the run the charts show, and the way back to all of it. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Group } from './chart/group';
import { clock } from './format';
import { rangeOf, withRange } from './route';

/** The address changes only when a zoom lasts this long, in milliseconds: browsers limit the rate of such changes. */
const STAYS = 300;

export function Zoomed({ group }: { group: Group }): JSX.Element | null {
  const [range, setRange] = useState(group.range);
  useEffect(() => group.onZoom(() => setRange(group.range)), [group]);
  useAddress(group);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === 'Escape') group.zoom(null);
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, [group]);
  return (
    <div class="zoomed" role="status">
      {range && (
        <>
          <span>
            charts show {clock(range[0])} – {clock(range[1])}
          </span>
          <button type="button" onClick={() => group.zoom(null)}>
            show all (Esc)
          </button>
        </>
      )}
    </div>
  );
}

/** Keeps the visible range in the address, so that a link shows it again. Not a history entry: back leads to the previous page. */
function useAddress(group: Group): void {
  useEffect(() => {
    const show = () => {
      const asked = rangeOf(window.location.hash);
      const { full } = group;
      group.zoom(asked && full ? [Math.max(asked[0], full[0]), Math.min(asked[1], full[1])] : asked);
    };
    let waiting: number | undefined;
    const keep = () => {
      const { hash, pathname, search } = window.location;
      const now = withRange(hash, group.range);
      if (now !== hash) window.history.replaceState(null, '', now || pathname + search);
    };
    const end = group.onZoom(() => {
      window.clearTimeout(waiting);
      waiting = window.setTimeout(keep, STAYS);
    });
    show();
    window.addEventListener('hashchange', show);
    return () => {
      window.clearTimeout(waiting);
      window.removeEventListener('hashchange', show);
      end();
    };
  }, [group]);
}
