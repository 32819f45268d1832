/** All runs stored by the server: to be searched by words and time, opened, or compared. */

import { Fragment, type JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { readHistory, type Listed } from './document';
import { joined, lasted, moment, tied } from './format';
import { asked, type Key, shownRuns, SPANS } from './history-rows';
import { LimitHistory, LimitPicture } from './limit';
import { alikes, axes, reach } from './limits';
import { ask, Trouble } from './source';
import { Scroll } from './table';
import { TroubleView } from './trouble';

/** Rows drawn at first; a button shows the rest. */
const ROOM = 200;
/** Maximum number of runs in a comparison. */
const MOST = 8;
const AGAIN = 5000;

/** Possible verdicts of a run, in the server's words. */
const VERDICTS = ['met', 'not-met', 'undecided', 'not-trustworthy', 'not-recovered', 'interrupted', 'failed', 'running', 'cut-short'];

/** What the colour of a verdict means. */
const TONES = [
  ['good', 'green: goal met, or limit found'],
  ['plain', 'uncoloured: figures alone, or no limit up to the highest rate allowed'],
  ['warn', 'amber: less certain, or with a warning'],
  ['bad', 'red: goal not met, or failed'],
] as const;

/** The search is kept for whoever comes back from a run. */
const kept = { text: '', verdict: '', span: 0, from: '', to: '', by: 'started' as Key, descending: true, chosen: [] as string[], opened: '' };

export function History(): JSX.Element {
  const [runs, setRuns] = useState<Listed[] | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [state, setState] = useState({ ...kept });
  const [room, setRoom] = useState(ROOM);
  const change = (part: Partial<typeof kept>) => {
    Object.assign(kept, part);
    setState({ ...kept });
  };

  const question = asked(state);
  useEffect(() => {
    document.title = 'runs · torment';
    let over = false;
    let timer: number | undefined;
    const load = async () => {
      if (document.hidden) {
        timer = window.setTimeout(load, AGAIN);
        return;
      }
      let next = 0;
      try {
        const read = readHistory(await ask(question));
        if (over) return;
        setRuns(read);
        setTrouble(null);
        if (read.some((run) => run.state === 'running')) next = AGAIN;
      } catch (error) {
        if (over) return;
        const found = Trouble.of(error);
        setTrouble(found);
        if (found.why === 'gone') next = AGAIN;
      }
      if (next > 0) timer = window.setTimeout(load, next);
    };
    void load();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [question]);

  const shown = useMemo(() => (runs ? shownRuns(runs, state) : []), [runs, state]);
  const narrowed = state.verdict !== '' || state.span !== 0;

  return (
    <>
      <h1>Runs</h1>
      {trouble && <TroubleView trouble={trouble} again />}
      {runs?.length === 0 && !narrowed && (
        <section class="empty">
          <p>No run is kept yet.</p>
          <p>
            <code>torment find demo</code> finds the limit of the built-in service in about a minute;{' '}
            <code>torment find http://HOST:PORT/</code> the limit of yours. Both are kept, and listed here.
          </p>
        </section>
      )}
      {runs !== null && (runs.length > 0 || narrowed) && (
        <>
          <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
            <label>
              <span>filter</span>
              <input
                type="search"
                value={state.text}
                placeholder="words, or target:… tag:… plan:…"
                onInput={(event) => change({ text: event.currentTarget.value })}
              />
            </label>
            <label>
              <span>verdict</span>
              <select value={state.verdict} onChange={(event) => change({ verdict: event.currentTarget.value })}>
                <option value="">any</option>
                {VERDICTS.map((word) => (
                  <option key={word} value={word}>
                    {word.replace('-', ' ')}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <span>started</span>
              <select value={state.span} onChange={(event) => change({ span: Number(event.currentTarget.value) })}>
                {SPANS.map(([name], index) => (
                  <option key={name} value={index}>
                    {name}
                  </option>
                ))}
                <option value={SPANS.length}>between…</option>
              </select>
            </label>
            {state.span === SPANS.length && (
              <>
                <label>
                  <span>from</span>
                  <input type="date" value={state.from} onInput={(event) => change({ from: event.currentTarget.value })} />
                </label>
                <label>
                  <span>to</span>
                  <input type="date" value={state.to} onInput={(event) => change({ to: event.currentTarget.value })} />
                </label>
              </>
            )}
            <p class="found" role="status">
              {shown.length === runs.length ? `${runs.length} runs` : `${shown.length} of ${runs.length} runs`}
            </p>
          </form>
          <Compare chosen={state.chosen} clear={() => change({ chosen: [] })} />
          {shown.length === 0 ? (
            <p class="nothing">
              No run matches.{' '}
              <button type="button" onClick={() => change({ text: '', verdict: '', span: 0, from: '', to: '' })}>
                show all
              </button>
            </p>
          ) : (
            <Rows all={runs} runs={shown.slice(0, room)} state={state} change={change} />
          )}
          {shown.length > room && (
            <p>
              <button type="button" onClick={() => setRoom(room + 5 * ROOM)}>
                show more ({shown.length - room} left)
              </button>
            </p>
          )}
        </>
      )}
    </>
  );
}

function Compare({ chosen, clear }: { chosen: string[]; clear: () => void }): JSX.Element {
  const enough = chosen.length >= 2;
  return (
    <div class="compare">
      {chosen.length === 0 ? (
        <>
          <button type="button" disabled>
            compare runs
          </button>
          <span class="faint">Select 2 to {MOST}.</span>
          <span class="key">
            {TONES.map(([tone, means]) => (
              <span key={tone} class={tone}>
                {means}
              </span>
            ))}
            <span class="of-limit">limit: a tick in its 95 % interval, ▸ if it is at least that</span>
            <span>zero-drop: no request fails</span>
          </span>
        </>
      ) : (
        <>
          {enough ? (
            <a class="button" href={`#/compare/${chosen.map(encodeURIComponent).join(',')}`}>
              compare {chosen.length} runs
            </a>
          ) : (
            <>
              <button type="button" disabled>
                compare 1 run
              </button>
              <span>Select another.</span>
            </>
          )}
          <button type="button" onClick={clear}>
            clear selection
          </button>
          {chosen.length === MOST && <span class="faint">{MOST} is the most that can be compared at once.</span>}
        </>
      )}
    </div>
  );
}

/**
 * The text after a run's name: its command, unless that is its name, and its target, unless that is implied. Without the usual
 * scheme, a narrow screen has room for the rest.
 */
function told(run: Listed): string {
  return joined(' · ', run.command === run.name ? '' : run.command, run.name === '' ? '' : run.target.replace(/^http:\/\//, ''));
}

function Rows({
  all,
  runs,
  state,
  change,
}: {
  /** All runs that limits are compared among, shown or not. */
  all: Listed[];
  runs: Listed[];
  state: typeof kept;
  change: (part: Partial<typeof kept>) => void;
}): JSX.Element {
  // Ticked runs stay ticked during another search.
  const { chosen } = state;
  const choose = (id: string) =>
    change({ chosen: chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(0, MOST) });
  const scales = useMemo(() => axes(all), [all]);
  const histories = useMemo(() => alikes(all), [all]);
  // Columns that are empty for all runs only take the room of the others.
  const limits = all.some((run) => run.limit);
  const changes = all.some((run) => run.before);
  const machines = new Set(all.map((run) => run.machine)).size > 1;
  const columns = 5 + Number(limits) + Number(changes) + Number(machines);
  const scale = [...scales].map(([unit, axis]) => reach(unit, axis)).join('; ');
  const head = (by: Key, name: string, side = 'text', scale = '') => (
    <th
      scope="col"
      class={`${side} col-${by}`}
      aria-sort={state.by === by ? (state.descending ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" class="quiet" onClick={() => change({ by, descending: state.by === by ? !state.descending : by === 'started' })}>
        {name}
        <span aria-hidden="true">{state.by === by ? (state.descending ? ' ↓' : ' ↑') : ''}</span>
      </button>
      {scale !== '' && <span class="scale">{scale}</span>}
    </th>
  );
  return (
    <Scroll label="runs">
      <table class="runs">
        <caption class="unseen">runs</caption>
        <thead>
          <tr>
            <th scope="col" class="tick">
              <span class="unseen">compare</span>
            </th>
            {head('target', 'run')}
            {head('verdict', 'verdict', 'text', scale && `limit: ${scale}`)}
            {limits && head('limit', 'limit', 'text', scale)}
            {head('started', 'started')}
            {changes && (
              <th scope="col" class="text col-before">
                vs the previous run
              </th>
            )}
            {head('lasted', 'duration', 'figure')}
            {machines && head('machine', 'machine')}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => {
            const axis = run.limit ? scales.get(run.limit.unit) : undefined;
            const like = histories.get(run.alike) ?? [];
            const opened = state.opened === run.id && like.length > 1;
            return (
              <Fragment key={run.id}>
                <tr class={chosen.includes(run.id) ? 'chosen' : ''}>
                  <td class="tick">
                    <input
                      type="checkbox"
                      checked={chosen.includes(run.id)}
                      disabled={!chosen.includes(run.id) && chosen.length >= MOST}
                      aria-label={`compare ${run.name || run.id}, ${run.command} ${run.target}`}
                      onChange={() => choose(run.id)}
                    />
                  </td>
                  <th scope="row" class="text">
                    <a href={`#/runs/${encodeURIComponent(run.id)}`}>
                      {run.name || run.target || run.id}
                    </a>{' '}
                    <span class="faint">{told(run)}</span>{' '}
                    <span class="faint beneath">{moment(run.started_unix_ms)}</span>
                    {run.tags.map((tag) => (
                      <span key={tag} class="tag">
                        {tag}
                      </span>
                    ))}
                  </th>
                  <td class="text">
                    {run.state === 'running' && <span class="dot running live" aria-hidden="true" />}{' '}
                    <span class={run.verdict_tone}>{tied(run.verdict)}</span>
                    {run.limit && axis && (
                      <span class="beneath">
                        <LimitPicture limit={run.limit} axis={axis} words={run.verdict} />
                      </span>
                    )}
                  </td>
                  {limits && (
                    <td class="text col-limit">
                      {run.limit && axis && (like.length > 1 ? (
                        <button type="button" class="quiet" aria-expanded={opened} title={`${run.verdict}; click for its history`} onClick={() => change({ opened: opened ? '' : run.id })}>
                          <LimitPicture limit={run.limit} axis={axis} words={run.verdict} />
                          <span class="unseen">, over time</span>
                        </button>
                      ) : (
                        <LimitPicture limit={run.limit} axis={axis} words={run.verdict} />
                      ))}
                    </td>
                  )}
                  <td class="text col-started">{moment(run.started_unix_ms)}</td>
                  {changes && (
                    <td class="text col-before">
                      {run.before && (
                        <a class={run.before.tone} href={`#/compare/${[run.before.id, run.id].map(encodeURIComponent).join(',')}`}>
                          {run.before.text}
                          <span class="unseen">: compare the two</span>
                        </a>
                      )}
                    </td>
                  )}
                  <td class="figure col-lasted">{lasted(run.started_unix_ms, run.ended_unix_ms)}</td>
                  {machines && <td class="text col-machine">{run.machine}</td>}
                </tr>
                {opened && (
                  <tr>
                    <td colSpan={columns}>
                      <LimitHistory runs={like} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}
