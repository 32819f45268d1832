/** Which part of the run the charts show, and the way back to all of it. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Group } from './chart/group';
import { clock } from './format';

export function Zoomed({ group }: { group: Group }): JSX.Element | null {
  const [range, setRange] = useState(group.range);
  useEffect(() => group.onZoom(() => setRange(group.range)), [group]);
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
