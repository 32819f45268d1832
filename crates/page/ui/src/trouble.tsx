/** What went wrong between the page and its server, and what to do. */

import type { JSX } from 'preact';
import { moment } from './format';
import type { Trouble } from './source';

export function TroubleView({ trouble, again, heard }: { trouble: Trouble; again?: boolean; heard?: number }): JSX.Element {
  const gone = trouble.why === 'gone';
  return (
    <div class="trouble" role="alert">
      <p>{trouble.message}</p>
      {heard !== undefined && heard > 0 && <p>Below is what it had sent until {moment(heard, true)}.</p>}
      {again && gone && <p>The page keeps trying. If torment was stopped, start it again, or open a saved report.</p>}
      {trouble.why === 'unknown' && (
        <p>
          <a href="#/">All runs</a> of this server.
        </p>
      )}
    </div>
  );
}
