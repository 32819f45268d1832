/** A document as a page: what holds, why, how sure, then the evidence. */

import { Component, type ComponentChildren, type JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Actions } from './actions';
import { ChartView } from './chart/chart';
import { timeRange } from './chart/data';
import { Group } from './chart/group';
import type { Document, Doubt, Full, Head, Section, Station } from './document';
import { FlameView } from './flame-view';
import { joined, lasted, moment } from './format';
import { TableView } from './table';
import { TextView, toneOf, words } from './text';
import { Zoomed } from './zoom';

interface Props {
  document: Document;
  /** A server is there that knows the runs named in tables. */
  linked: boolean;
  /** The run goes on and the server sends updates. */
  live: boolean;
}

export function DocumentView({ document: doc, linked, live }: Props): JSX.Element {
  const { front, timeline } = doc;
  const group = useMemo(() => new Group('run', null), [front.head.id, front.head.command]);
  group.full = useMemo(() => timeRange(doc), [doc.timeline, doc.front]);
  useEffect(() => {
    const verdict = front.verdict[0] ? words(front.verdict[0]) : front.head.state === 'running' ? 'running' : '';
    window.document.title = joined(' · ', front.head.name, front.head.target || front.head.command, verdict, 'torment');
  }, [front]);
  // The list of runs takes its colour from the first line; in a comparison each line is about a run.
  const told = front.head.command === 'compare' ? front.verdict : front.verdict.slice(0, 1);
  const nothing = front.verdict.length === 0 && front.sections.length === 0;
  return (
    <>
      <HeadView head={front.head} live={live}>
        <Actions doc={doc} group={group} linked={linked} />
      </HeadView>
      <div class="at-once">
        <section class={`verdict ${toneOf(told)}`} aria-label="Verdict" aria-live={live ? 'polite' : undefined}>
          {front.verdict.map((text, index) => (
            <p key={index} class={index === 0 ? 'first' : ''}>
              <TextView text={text} />
            </p>
          ))}
          {nothing && (
            <p class="first">
              {front.head.state === 'running' ? 'Nothing is known yet: the run has only just started.' : 'Nothing was measured.'}
            </p>
          )}
          {front.doubts.length > 0 && (
            <p class="doubted">
              <span class="warn">doubt:</span> {front.doubts[0]!.text} <About doubt={front.doubts[0]!} sections={front.sections} />
              {front.doubts.length > 1 && <GoTo id={DOUBTS}>{counted(front.doubts.length - 1)}</GoTo>}
            </p>
          )}
        </section>
        {front.pictures.length > 0 && (
          <>
            <h2 class="unseen">In a picture</h2>
            <div class="pictures">
              {front.pictures.map((chart) => (
                <Guard key={chart.id} what={chart.title} doc={doc}>
                  <ChartView chart={chart} timeline={timeline} phases={front.phases} group={group} />
                </Guard>
              ))}
            </div>
          </>
        )}
      </div>
      {front.chain.length > 0 && <Chain stations={front.chain} />}
      <Doubts doubts={front.doubts.slice(1)} sections={front.sections} />
      {front.sections.length > 1 && (
        <nav class="contents" aria-label="Sections">
          <ul>
            {front.sections.map((section) => (
              <li key={section.id}>
                <GoTo id={section.id}>{section.title}</GoTo>
              </li>
            ))}
          </ul>
        </nav>
      )}
      <Zoomed group={group} />
      {front.sections.map((section) => (
        <SectionView
          key={section.id}
          section={section}
          doubts={front.doubts.filter((doubt) => doubt.section === section.id)}
          doc={doc}
          linked={linked}
          charts={(chart) => <ChartView chart={chart} timeline={timeline} phases={front.phases} group={group} />}
        />
      ))}
      {(front.pictures.length > 0 || front.sections.some((section) => section.charts.length > 0)) && (
        <footer class="handling">
          Charts: drag to zoom, double-click or press Escape to reset; the address of this page keeps the zoom. Click a name to
          hide it. With the keyboard: arrows move, + and − zoom.
        </footer>
      )}
    </>
  );
}

function HeadView({ head, live, children }: { head: Head; live: boolean; children: ComponentChildren }): JSX.Element {
  const state = { running: 'running', ended: 'ended', cut_short: 'cut short' }[head.state];
  const facts: [string, string][] = [
    ['goal', head.goal],
    ['started', head.started_unix_ms ? moment(head.started_unix_ms) : ''],
    ['duration', head.ended_unix_ms === null ? '' : lasted(head.started_unix_ms, head.ended_unix_ms)],
    ['run', head.id],
    ['machine', head.machine],
    ['torment', head.version],
  ];
  return (
    <header class="head">
      <h1>
        {head.name !== '' && <span class="name">{head.name}</span>}
        {head.target || head.command || 'a run'}
        {head.target !== '' && !['', head.name].includes(head.command) && <span class="command">{head.command}</span>}
      </h1>
      <p class="state">
        <span class={`dot ${head.state} ${live ? 'live' : ''}`} aria-hidden="true" />
        <span>{live ? 'live' : state}</span>
        {head.now !== null && <span class="now">{head.now}</span>}
      </p>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {children}
    </header>
  );
}

/** A request's path from left to right: how busy each station was, and what gave first. A station links to its charts. */
function Chain({ stations }: { stations: Station[] }): JSX.Element {
  return (
    // Some screen readers do not recognise a list without bullets, unless it has a role.
    <ol class="chain" role="list" aria-label="Request path">
      {stations.map((station, index) => (
        <li key={index} class={known(station) ? station.tone : 'unknown'}>
          <strong>{station.section === null ? station.name : <GoTo id={station.section}>{station.name}</GoTo>}</strong>
          {station.tone === 'bad' && <span class="mark">gave first</span>}
          <Fullness station={station} />
          {station.facts.map((fact, nth) => (
            <span key={nth} class="fact">
              <TextView text={fact} />
            </span>
          ))}
        </li>
      ))}
    </ol>
  );
}

/** Whether anything was observed there. */
const known = ({ facts, well, degraded }: Station) => facts.length > 0 || well !== null || degraded !== null;

const FIGURES: [string, (full: Full) => string | null][] = [
  ['in use', (full) => full.in_use],
  ['time in it', (full) => full.stay && `${full.stay} each`],
  ['waiting before it', (full) => full.waiting && `${full.waiting} wait`],
];

/** How busy a station was: where all was well, and where it was not. */
function Fullness({ station }: { station: Station }): JSX.Element | null {
  const all = [
    { name: 'well', tone: 'good', full: station.well },
    { name: 'degraded', tone: 'bad', full: station.degraded },
  ];
  const sides = all.flatMap(({ full, ...side }) => (full ? [{ ...side, full }] : []));
  if (sides.length === 0) return null;
  const rows = FIGURES.filter(([, figure]) => sides.some(({ full }) => figure(full) !== null));
  return (
    <table aria-label={station.name}>
      <thead>
        <tr>
          <td />
          {sides.map(({ name, tone }) => (
            <th key={name} scope="col" class={tone}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, figure], row) => (
          <tr key={name}>
            <th scope="row">
              <span class="unseen">{name}</span>
            </th>
            {sides.map(({ name, tone, full }) => (
              <td key={name}>
                {figure(full) ?? '–'}
                {row === 0 && full.share !== null && <Bar share={full.share} tone={tone} />}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Redundant with the figure beside it. */
function Bar({ share, tone }: { share: number; tone: string }): JSX.Element {
  return (
    <svg class={`share ${tone}`} width="100%" height="5" aria-hidden="true">
      <rect width="100%" height="5" class="room" />
      <rect width={`${Math.min(1, Math.max(0, share)) * 100}%`} height="5" fill="currentColor" />
    </svg>
  );
}

const DOUBTS = 'doubts';

const counted = (doubts: number) => `${doubts} more reason${doubts === 1 ? '' : 's'} for doubt`;

/** A link to the section whose figures a caveat affects. */
function About({ doubt, sections }: { doubt: Doubt; sections: Section[] }): JSX.Element | null {
  const title = sections.find((section) => section.id === doubt.section)?.title;
  return doubt.section === null || title === undefined ? null : (
    <>
      <span class="faint">
        (see <GoTo id={doubt.section}>{title}</GoTo>)
      </span>{' '}
    </>
  );
}

/** All but the gravest, which the verdict shows. */
function Doubts({ doubts, sections }: { doubts: Doubt[]; sections: Section[] }): JSX.Element | null {
  if (doubts.length === 0) return null;
  return (
    <section class="doubts" id={`section-${DOUBTS}`} tabIndex={-1} aria-labelledby="doubts-title">
      <h2 id="doubts-title">{counted(doubts.length)}</h2>
      <ul>
        {doubts.map((doubt, index) => (
          <li key={index}>
            {doubt.text} <About doubt={doubt} sections={sections} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function SectionView({
  section,
  doubts,
  doc,
  linked,
  charts,
}: {
  section: Section;
  doubts: Doubt[];
  doc: Document;
  linked: boolean;
  charts: (chart: Section['charts'][number]) => JSX.Element;
}): JSX.Element {
  const title = `section-${section.id}`;
  return (
    <section class="section" id={title} aria-labelledby={`${title}-title`} tabIndex={-1}>
      <h2 id={`${title}-title`}>
        {section.title}
        {doubts.length > 0 && <span class="mark">{doubts.length === 1 ? 'doubt' : `${doubts.length} doubts`}</span>}
      </h2>
      {doubts.map((doubt, index) => (
        <p key={index} class="doubt">
          {doubt.text}
        </p>
      ))}
      {section.texts.length > 0 && (
        <div class="texts">
          {section.texts.map((text, index) => (
            <p key={index} class={text.length === 1 && text[0]!.tone === 'strong' ? 'lead' : ''}>
              <TextView text={text} />
            </p>
          ))}
        </div>
      )}
      {section.charts.length > 0 && (
        <div class="charts">
          {section.charts.map((chart) => (
            <Guard key={chart.id} what={chart.title} doc={doc}>
              {charts(chart)}
            </Guard>
          ))}
        </div>
      )}
      {section.flames?.map((flame) => (
        <Guard key={flame.id} what={flame.title} doc={doc}>
          <FlameView flame={flame} />
        </Guard>
      ))}
      {section.tables.map((table, index) => (
        <Guard key={index} what={table.title || section.title} doc={doc}>
          <TableView table={table} linked={linked} label={section.title} />
        </Guard>
      ))}
    </section>
  );
}

/** A link within this page; the address stays as it is, since it selects the page. */
function GoTo({ id, children }: { id: string; children: ComponentChildren }): JSX.Element {
  const go = (event: Event) => {
    event.preventDefault();
    const target = window.document.getElementById(`section-${id}`);
    target?.scrollIntoView();
    target?.focus({ preventScroll: true });
  };
  return (
    <a href={`#section-${id}`} onClick={go}>
      {children}
    </a>
  );
}

interface GuardProps {
  what: string;
  doc: Document;
  children: ComponentChildren;
}

/** Shows that something cannot be drawn, and keeps the rest of the page. Other figures get another chance. */
class Guard extends Component<GuardProps, { failed: Document | null }> {
  override state: { failed: Document | null } = { failed: null };
  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ failed: this.props.doc });
  }
  override render({ what, doc, children }: GuardProps): ComponentChildren {
    if (this.state.failed !== doc) return children;
    return <p class="nothing">"{what}" could not be drawn; the other figures are not affected.</p>;
  }
}
