/** Which page is shown: the embedded document, or the one in the address. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Follow, type Followed } from './follow';
import { History } from './history';
import { type Read, readDocument } from './read';
import { type Route, routeOf } from './route';
import { DocumentView } from './run';
import { ask, Trouble } from './source';
import { choose, chosen, type Choice } from './theme';
import { TroubleView } from './trouble';

export function Frozen({ read }: { read: Read }): JSX.Element {
  return (
    <Shell linked={false}>
      <Notes notes={read.notes} />
      <DocumentView document={read.document} linked={false} live={false} />
    </Shell>
  );
}

export function App(): JSX.Element {
  const [route, setRoute] = useState<Route | null>(() => (window.location.hash.length > 1 ? routeOf(window.location.hash) : null));
  useEffect(() => {
    const follow = () => {
      // A link within the page is not another page.
      if (window.location.hash.startsWith('#/') || window.location.hash === '') {
        setRoute(routeOf(window.location.hash));
        window.scrollTo(0, 0);
      }
    };
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  useEffect(() => {
    if (route !== null) return;
    const go = (home: string) => {
      window.history.replaceState(null, '', home);
      setRoute(routeOf(home));
    };
    ask('/api/home').then(
      (answer) => {
        const home = (answer as { home?: unknown } | null)?.home;
        go(typeof home === 'string' && home.startsWith('#/') ? home : '#/');
      },
      // The history page will report whatever is wrong.
      () => go('#/'),
    );
  }, [route]);
  if (route === null) return <Shell linked>{null}</Shell>;
  switch (route.page) {
    case 'history':
      return (
        <Shell linked here="history">
          <History />
        </Shell>
      );
    case 'run':
      return <RunPage key={route.id} id={route.id} />;
    case 'compare':
      return <ComparePage key={route.ids.join()} ids={route.ids} />;
    case 'unknown':
      return (
        <Shell linked>
          <h1>No such page</h1>
          <p>
            There is nothing at <code>{route.hash}</code>. <a href="#/">All runs</a>
          </p>
        </Shell>
      );
  }
}

function RunPage({ id }: { id: string }): JSX.Element {
  const [now, setNow] = useState<Followed | null>(null);
  useEffect(() => {
    const follow = new Follow(id, setNow);
    return () => follow.end();
  }, [id]);
  return (
    <Shell linked>
      {now?.trouble && !now.document && <h1>Run {id}</h1>}
      {now?.trouble && <TroubleView trouble={now.trouble} again heard={now.heard} />}
      {now && <Notes notes={now.notes} />}
      {now?.document && <DocumentView document={now.document} linked live={now.live} />}
    </Shell>
  );
}

function ComparePage({ ids }: { ids: string[] }): JSX.Element {
  const [read, setRead] = useState<Read | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  useEffect(() => {
    ask(`/api/compare?runs=${ids.map(encodeURIComponent).join(',')}`)
      .then((answer) => {
        const read = readDocument(answer);
        if (!read) throw new Trouble('refused', 'The server sent a comparison that this page cannot read.');
        setRead(read);
      })
      .catch((error) => setTrouble(Trouble.of(error)));
  }, []);
  return (
    <Shell linked>
      {trouble && <h1>Comparison</h1>}
      {trouble && <TroubleView trouble={trouble} />}
      {read && <Notes notes={read.notes} />}
      {read && <DocumentView document={read.document} linked live={false} />}
    </Shell>
  );
}

function Notes({ notes }: { notes: string[] }): JSX.Element | null {
  if (notes.length === 0) return null;
  return (
    <div class="trouble" role="status">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </div>
  );
}

function Shell({
  linked,
  here,
  children,
}: {
  linked: boolean;
  here?: 'history';
  children: ComponentChildren;
}): JSX.Element {
  const skip = (event: Event) => {
    event.preventDefault();
    document.getElementById('main')?.focus();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        skip to the content
      </a>
      <div class="bar">
        <nav aria-label="Pages">
          {linked ? (
            <a class="product" href="#/" aria-current={here === 'history' ? 'page' : undefined}>
              torment
            </a>
          ) : (
            <span class="product">torment</span>
          )}
          {linked && here !== 'history' && <a href="#/">all runs</a>}
        </nav>
        <Theme />
      </div>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

const NAMES: Record<Choice, string> = { auto: 'system', light: 'light', dark: 'dark' };

function Theme(): JSX.Element {
  const [now, setNow] = useState(chosen());
  const [turned, setTurned] = useState(false);
  const next: Record<Choice, Choice> = { auto: 'light', light: 'dark', dark: 'auto' };
  const turn = () => {
    choose(next[now]);
    setNow(next[now]);
    setTurned(true);
  };
  return (
    <div>
      <span class="unseen" role="status">
        {turned && `theme: ${NAMES[now]}`}
      </span>
      <button type="button" class="quiet theme" onClick={turn} title={`switch to ${NAMES[next[now]]}`}>
        theme: {NAMES[now]}
      </button>
    </div>
  );
}
