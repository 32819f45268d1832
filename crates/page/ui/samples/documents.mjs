// Documents as torment makes them, for the tests and for whoever works on the page. Reckoned rather than recorded, and the
// same every time: a service with a pool of ten behind 200 workers, searched for its limit.

const LIMIT = 198;
const TRIALS = [
  [0, 12, 40, 'warm-up', 'plain'],
  [13, 23, 80, 'good', 'good'],
  [24, 34, 160, 'good', 'good'],
  [35, 45, 320, 'bad', 'bad'],
  [53, 63, 226, 'bad', 'bad'],
  [70, 80, 190, 'good', 'good'],
  [81, 91, 207, 'bad', 'bad'],
  [97, 107, 198, 'good', 'good'],
  [108, 118, 202, 'void', 'warn'],
  [119, 129, 202, 'bad', 'bad'],
  [134, 144, 198, 'good', 'good'],
  [145, 155, 198, 'good', 'good'],
  [156, 166, 99, 'response', 'plain'],
  [167, 177, 178, 'response', 'plain'],
];
const SECONDS = 180;

/** Numbers that look like chance and are not. */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const piece = (text, tone = 'plain') => ({ text, tone });
const text = (...pieces) => pieces.map((one) => (typeof one === 'string' ? piece(one) : piece(...one)));
const axis = (name, unit, log = false) => ({ name, unit, log });
const time = axis('time', 'time');
const point = (x, y, more = {}) => ({ x, y, low: null, high: null, label: '', tone: 'plain', ...more });
const chart = (id, title, form, x, y, series, more = {}) => ({
  id,
  title,
  note: '',
  form,
  x,
  y,
  series,
  bounds: [],
  bands: [],
  rows: [],
  heat: null,
  marks: [],
  hollow: '',
  ...more,
});
const row = (name, note = '', word = piece('')) => ({ name, note, word });
const line = (name, role, column) => ({ name, role, column, points: [] });
const dots = (name, role, points) => ({ name, role, column: null, points });
const section = (id, title, more = {}) => ({ id, title, texts: [], tables: [], charts: [], ...more });

const full = (in_use, share, stay, waiting = null) => ({ in_use, share, stay, waiting });
const station = (name, more = {}) => ({ name, facts: [], well: null, degraded: null, section: null, tone: 'plain', ...more });

/** The way of a request through it. */
const CHAIN = [
  station('requests', {
    facts: [text(['well', 'good'], ' at 160/s'), text(['degraded', 'bad'], ' at 226/s')],
    section: 'rates',
  }),
  station('torment: 2 loops', { well: full('0.03 of 2', 0.015, '190 µs'), degraded: full('0.04 of 2', 0.02, '200 µs') }),
  station('391 connections', {
    well: full('8.1 in use', null, '50.6 ms', '0'),
    degraded: full('390 in use', null, '1.97 s', '1.2'),
    section: 'rates',
  }),
  station('200 workers', {
    well: full('8 of 200', 0.04, '50 ms', '0.1'),
    degraded: full('200 of 200', 1, '1.01 s', '190'),
    section: 'evidence',
  }),
  station('10 permits', {
    facts: [text('190 of 200 workers wait for another thread, at most 30 s', [' (0 threads at 160/s)', 'faint'])],
    well: full('8 of 10', 0.8, '50 ms', '0'),
    degraded: full('10 of 10', 1, '50.5 ms', '190'),
    section: 'evidence',
    tone: 'bad',
  }),
  station('what a permit guards'),
];

/** What the service was like in each second. */
function seconds() {
  const random = chance(7);
  const rows = [];
  let backlog = 0;
  for (let t = 1; t <= SECONDS; t++) {
    const trial = TRIALS.find(([from, to]) => t > from && t <= to);
    const offered = trial ? trial[2] : 0;
    const achieved = Math.min(LIMIT, offered + backlog) * (1 - 0.01 * random());
    backlog = Math.max(0, backlog + offered - achieved);
    if (!trial) backlog = Math.max(0, backlog - LIMIT);
    const busy = Math.min(10, offered * 0.05 + (backlog > 1 ? 10 : 0));
    const wait = backlog / LIMIT;
    rows.push({ t, offered, achieved: trial ? achieved : 0, backlog, busy, wait, random: random(), measured: Boolean(trial) });
  }
  return rows;
}

/** A search that found its limit and what gave first. */
export function find() {
  const rows = seconds();
  const column = (id, value, adds = false) => ({
    id,
    values: rows.map((row) => {
      const found = value(row);
      return found === null ? null : Number(found.toPrecision(6));
    }),
    adds,
  });
  const measured = (value) => (row) => (row.measured ? value(row) : null);
  const half = measured((row) => 0.0502 + row.wait * 0.6 + 0.0004 * row.random);
  const timeline = {
    at: rows.map((row) => row.t),
    columns: [
      column('offered', (row) => row.offered, true),
      column('achieved', (row) => row.achieved, true),
      column('good', (row) => (row.wait > 1 ? row.achieved * 0.8 : row.achieved), true),
      column('response_p50', half),
      column('response_p90', measured((row) => 0.051 + row.wait * 0.9 + 0.001 * row.random)),
      column('response_p99', measured((row) => 0.0524 + row.wait * 1.05 + 0.003 * row.random)),
      column('response_max', measured((row) => 0.056 + row.wait * 1.2 + 0.02 * row.random)),
      column('outstanding', (row) => row.backlog + row.busy),
      column('threads.permit', (row) => Math.max(0, Math.min(190, row.backlog)), true),
      column('threads.working', (row) => row.busy, true),
      column('threads.idle', (row) => Math.max(0, 200 - row.busy - Math.min(190, row.backlog)), true),
      column('cpu.worker', (row) => 0.02 + row.achieved * 0.0004),
      column('cpu.gc', (row) => 0.01 + 0.01 * row.random),
      column('heap', (row) => (40 + ((row.t * 3) % 60)) * 2 ** 20),
      column('bad_share', measured((row) => (row.wait > 1 ? 0.2 : 0))),
    ],
  };
  return {
    schema: 1,
    front: {
      head: {
        id: '7f3a91c2',
        name: 'permits',
        command: 'find',
        target: 'http://127.0.0.1:8181/fault/permit?size=10&us=50000',
        goal: 'zero-drop',
        version: '0.1.0',
        started_unix_ms: 1772370301000,
        ended_unix_ms: 1772370301000 + SECONDS * 1000,
        state: 'ended',
        machine: '2 × Xeon 2.8 GHz, 24 GiB, Linux 6.12',
        now: null,
        again: "cat > 7f3a91c2.toml <<'TORMENT'\n[target]\nurl = \"http://127.0.0.1:8181/fault/permit?size=10&us=50000\"\nTORMENT\ntorment find 7f3a91c2.toml",
      },
      chain: structuredClone(CHAIN),
      pictures: [],
      verdict: [
        text(['holds 198/s', 'strong'], ', between 198 and 202: above that the queue grows by 4 requests a second.'),
        text('190 of its 200 workers wait for one of ', ['10 permits', 'bad'], '; 10 permits ÷ 50 ms held = 200/s is the limit.'),
      ],
      doubts: [
        { text: 'One of 14 trials is void: the hypervisor took 11 % of a processor away while it ran.', section: 'search' },
        { text: 'torment and the target share two processors; above 5,000/s that would matter.', section: null },
      ],
      sections: [
        section('evidence', 'What gave first', {
          texts: [
            text('  190 of 200 workers (worker-N) wait for another thread, at most 30 s', ['   (0 threads at 40/s)', 'faint']),
            text('  10 do something meanwhile, never more', ['   (1.98 threads at 40/s)', 'faint']),
            text('  confidence: ', ['high', 'good'], '; unless fewer than 7 are in use while workers wait'),
            text(['  next: ', 'faint'], ['hold each permit for less time: now 50 ms per request', 'strong']),
            text(['  expect: ', 'faint'], 'a pool of 20: about 396/s; then if the rate stays the same, what the pool guards is the limit'),
          ],
          charts: [
            chart(
              'threads',
              'Where the threads of the target are',
              'stack',
              time,
              axis('threads', 'count'),
              [
                line('working', 'busy', 'threads.working'),
                line('waiting for a permit', 'waiting', 'threads.permit'),
                line('idle', 'idle', 'threads.idle'),
              ],
              { note: 'The pool is full when no more than ten work and the rest wait.' },
            ),
            chart(
              'cpu',
              'Processors busy',
              'lines',
              time,
              axis('processors', 'processors'),
              [line('workers', { nth: 0 }, 'cpu.worker'), line('garbage collector', { nth: 1 }, 'cpu.gc')],
              { bounds: [{ name: 'quota', at: 2, along_x: false, tone: 'warn' }] },
            ),
          ],
        }),
        section('rates', 'Load and answers', {
          charts: [
            chart('rate', 'Rate', 'lines', time, axis('requests', 'per_second'), [
              line('offered', 'offered', 'offered'),
              line('achieved', 'achieved', 'achieved'),
              line('good', 'good', 'good'),
            ], { bounds: [{ name: 'limit', at: LIMIT, along_x: false, tone: 'strong' }] }),
            chart('outstanding', 'Requests sent and not answered', 'lines', time, axis('requests', 'count'), [
              line('outstanding', 'waiting', 'outstanding'),
            ]),
            chart(
              'response',
              'Response time',
              'lines',
              time,
              axis('response time', 'seconds', true),
              [
                line('median', 'half', 'response_p50'),
                line('90 %', 'ninety', 'response_p90'),
                line('99 %', 'ninety_nine', 'response_p99'),
                line('largest', 'largest', 'response_max'),
              ],
              { bounds: [{ name: 'goal', at: 1, along_x: false, tone: 'bad' }] },
            ),
            chart('heat', 'Response times, each second', 'heat', time, axis('response time', 'seconds', true), [], { heat: heat(rows) }),
          ],
        }),
        section('search', 'The search', {
          texts: [text('14 trials in 3 min; the bounds closed to 2 %.')],
          charts: [
            chart(
              'trials',
              'Every trial',
              'points',
              time,
              axis('offered rate', 'per_second'),
              [
                dots(
                  'trials',
                  'offered',
                  TRIALS.map(([from, to, rate, label, tone], index) =>
                    point((from + to) / 2, rate, { label: `trial ${index + 1}: ${label}`, tone }),
                  ),
                ),
              ],
              {
                bounds: [
                  { name: 'lower', at: 198, along_x: false, tone: 'good' },
                  { name: 'upper', at: 202, along_x: false, tone: 'bad' },
                ],
              },
            ),
            chart(
              'knee',
              'Response time against rate',
              'points',
              axis('offered rate', 'per_second'),
              axis('response time', 'seconds', true),
              [
                dots('median', 'half', [40, 80, 99, 160, 178, 190, 198].map((rate) => curve(rate, 0.0502, 0.9))),
                dots('99 %', 'ninety_nine', [40, 80, 99, 160, 178, 190, 198].map((rate) => curve(rate, 0.0531, 2.6))),
              ],
              { bounds: [{ name: 'limit', at: 198, along_x: true, tone: 'strong' }] },
            ),
          ],
          tables: [
            {
              title: 'Trials',
              head: ['trial', 'offered', 'achieved', 'bad', 'p50', 'p99', 'class'],
              rows: TRIALS.map(([, , rate, label, tone], index) => [
                piece(`${index + 1}`),
                piece(`${rate}/s`),
                piece(`${Math.min(rate, LIMIT)}/s`),
                piece(tone === 'bad' ? '4.2 %' : '0'),
                piece(tone === 'bad' ? '1.4 s' : '50.3 ms'),
                piece(tone === 'bad' ? '3.9 s' : '53.1 ms'),
                piece(label, tone),
              ]),
              text: [6],
              runs: [],
            },
          ],
        }),
        section('distribution', 'Distribution', {
          charts: [
            chart(
              'percentiles',
              'Response time by percentile',
              'lines',
              axis('percentile', 'percentile', true),
              axis('response time', 'seconds', true),
              [0.5, 0.9, 1].map((share, nth) =>
                dots(
                  `at ${Math.round(share * LIMIT)}/s`,
                  { nth },
                  [1, 2, 4, 10, 20, 50, 100, 200, 500, 1000, 2000, 5940].map((x) =>
                    point(x, 0.0499 + 0.0006 * share * Math.log2(x) + 0.00002 * share ** 3 * x),
                  ),
                ),
              ),
            ),
            chart(
              'effects',
              'What a change would do',
              'intervals',
              axis('rate against now', 'ratio'),
              axis('', 'count'),
              [
                dots('arms', 'achieved', [
                  point(1.97, 0, { low: 1.92, high: 2.02, tone: 'good' }),
                  point(1.01, 1, { low: 0.98, high: 1.04 }),
                  point(0.87, 2, { low: 0.81, high: 0.94, tone: 'bad' }),
                ]),
              ],
              { rows: ['a pool of 20', '400 workers', 'one processor'].map((name) => row(name)), bounds: [{ name: 'no change', at: 1, along_x: true, tone: 'plain' }] },
            ),
            chart('heap', 'Heap of the target', 'lines', time, axis('heap', 'bytes'), [line('used', 'busy', 'heap')]),
          ],
        }),
      ],
      phases: TRIALS.map(([from, to, rate, label, tone], index) => ({
        from,
        to,
        label: `trial ${index + 1}: ${rate}/s, ${label}`,
        tone,
      })),
    },
    timeline,
  };
}

function curve(rate, base, slope) {
  const y = base + (slope * 0.0001 * rate) / (1.02 - rate / LIMIT) / 40;
  return point(rate, Number(y.toPrecision(5)), { low: y * 0.97, high: y * 1.04, label: `${rate}/s`, tone: rate > 190 ? 'warn' : 'good' });
}

function heat(rows) {
  const random = chance(11);
  const y = Array.from({ length: 41 }, (_, i) => Number((0.02 * 1.13 ** i).toPrecision(5)));
  const counts = [];
  for (const row of rows) {
    const centre = 0.0505 + row.wait * 0.6;
    for (let i = 0; i < 40; i++) {
      const away = Math.log(y[i] / centre) / Math.log(1.13);
      const share = Math.exp((-away * away) / 3) * 0.4 + (away > 0 && away < 9 ? 0.004 : 0);
      counts.push(row.measured ? Math.floor(row.achieved * share + random()) * (share > 0.002 ? 1 : 0) : 0);
    }
  }
  return { x: [0, ...rows.map((row) => row.t)], y, counts };
}

/** An experiment whose hypotheses came out one way each: a picture of rows, each start a point. */
export function attempt() {
  const document = find();
  const effects = [
    [row('baseline', 'gave first: workers (4 of 4)'), null, [0.98, 1.03, 0.99, 1.01]],
    [row('placebo', 'baseline once more', piece('no difference that matters', 'strong')), [1.01, 0.96, 1.05], [1.03, 0.99, 1, 1.02]],
    [row('virtual threads', 'gave first: a pool (4 of 4)', piece('better', 'good')), [1.24, 1.15, 1.34], [1.2, 1.31, 1.22, 1.26]],
    [row('a pool of 50', 'gave first: a row lock (3 of 4)', piece('worse', 'bad')), [0.81, 0.76, 0.86], [0.79, 0.84, 0.8, 0.82]],
    [row('400 workers', '', piece('undecided', 'warn')), [1.06, 0.93, 1.2], [1.1, 0.97, 1.13, 1.04]],
  ];
  const estimates = effects.flatMap(([{ word }, found], at) =>
    found ? [point(found[0], at - 0.2, { low: found[1], high: found[2], tone: word.tone })] : [],
  );
  const starts = effects.flatMap(([, , ratios], at) =>
    ratios.map((ratio, nth) => point(ratio, Number((at + 0.085 + nth * 0.09).toFixed(3)), { label: `block ${nth + 1}` })),
  );
  Object.assign(starts.at(-1), { label: 'block 4, void', tone: 'warn' });
  const sides = { note: 'bar: the ratio with its interval; points: single starts; hollow: void', rows: effects.map(([one]) => one) };
  const pictures = [
    chart('effects-0', 'capacity (more is better)', 'intervals', axis('ratio to the baseline', 'ratio', true), axis('', 'count'), [
      dots('estimate', 'achieved', estimates),
      dots('start', 'idle', starts),
    ], {
      ...sides,
      bands: [
        { name: 'worse', means: '', from: null, to: 1 / 1.1, tone: 'bad' },
        { name: 'no difference', means: '', from: 1 / 1.1, to: 1.1, tone: 'faint' },
        { name: 'better', means: '', from: 1.1, to: null, tone: 'good' },
      ],
      bounds: [{ name: 'no effect', at: 1, along_x: true, tone: 'faint' }],
    }),
  ];
  document.front.head.command = 'try';
  document.front.verdict = [text(['1 better, 1 worse, 1 undecided', 'strong'], ' · 4 of at most 10 blocks')];
  document.front.pictures = pictures;
  return document;
}

/** Figures of a machine: bars on an axis of either kind, with what they should come to. */
export function sheet() {
  const document = empty();
  const launches = [
    ['fork', '0 MiB', 48e-6, []],
    ['fork', '64 MiB', 1.24e-3, [['as at 0 MiB', 48e-6], ['16,384 pages × 72.9 ns', 1.19e-3]]],
    ['pthread_create', '0 MiB', 6.4e-6, []],
    ['async task', '0 MiB', 9.5e-9, []],
  ];
  const switches = [
    ['pipe, threads', '', 2.65e-6, [['2 system calls', 0.74e-6], ['wake-up and switch', 1.91e-6]]],
    ['condition variable, threads', '', 4.39e-6, []],
  ];
  const picture = (nth, title, log, figures) => {
    const bars = figures.map(([, label, value], at) => point(value, at, { low: value * 0.96, high: value * 1.03, label }));
    const parts = figures.flatMap(([, label, , sum], at) =>
      sum.map(([name, amount]) => point(amount, at, { label: label === '' ? name : `${label}: ${name}`, tone: 'faint' })),
    );
    const rows = figures.map(([name, , , sum]) => row(name, sum.map(([part]) => part).join(' + ')));
    return chart(`figures-${nth}`, title, 'bars', axis('time (less is better)', 'seconds', log), axis('', 'count'), [
      dots('measured', 'achieved', bars),
      dots('part', 'idle', parts),
    ], { rows, note: 'bar: the median with its interval' });
  };
  const pictures = [picture(0, 'launch', true, launches), picture(1, 'switch', false, switches)];
  const [, doubtful] = pictures[1].rows;
  Object.assign(doubtful, { word: piece('doubtful', 'warn') });
  Object.assign(pictures[1].series[0].points[1], { tone: 'warn' });
  Object.assign(document.front, { pictures, verdict: [text(['6 figures', 'strong'], ', each the median of its blocks')] });
  Object.assign(document.front.head, { command: 'probe', target: 'this machine', state: 'ended', ended_unix_ms: 1_760_000_000_000, now: null });
  return document;
}

/** A run of half an hour that watched a great deal. */
export function large(rows = 1800, columns = 80) {
  const random = chance(3);
  const document = find();
  document.timeline = {
    at: Array.from({ length: rows }, (_, i) => i + 1),
    columns: Array.from({ length: columns }, (_, c) => {
      let level = 50 + 10 * c;
      return {
        id: `figure.${c}`,
        values: Array.from({ length: rows }, () => Number((level += (random() - 0.5) * 4).toFixed(2))),
        adds: c % 2 === 0,
      };
    }),
  };
  document.front.phases = [{ from: 0, to: rows, label: 'load', tone: 'plain' }];
  document.front.sections = Array.from({ length: 10 }, (_, s) =>
    section(`part-${s}`, `Part ${s + 1}`, {
      charts: [0, 1].map((k) =>
        chart(
          `part-${s}-${k}`,
          `Figures ${8 * s + 4 * k} and on`,
          k === 0 ? 'lines' : 'stack',
          time,
          axis('things', 'count'),
          [0, 1, 2, 3].map((nth) => line(`figure ${8 * s + 4 * k + nth}`, { nth }, `figure.${(8 * s + 4 * k + nth) % columns}`)),
        ),
      ),
    }),
  );
  document.front.doubts = [];
  return document;
}

/** Names that would be markup if a page took them for it. */
export function markup() {
  const evil = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script></script><!--';
  const document = find();
  document.front.head.target = evil;
  document.front.verdict = [text([evil, 'bad'])];
  document.front.doubts = [{ text: evil, section: 'evidence' }];
  document.front.sections = document.front.sections.slice(0, 1);
  const [only] = document.front.sections;
  only.title = evil;
  only.texts = [text(evil)];
  only.tables = [{ title: evil, head: [evil], rows: [[piece(evil)]], text: [], runs: [] }];
  only.charts[0].title = evil;
  only.charts[0].series[0].name = evil;
  document.front.phases[0].label = evil;
  return document;
}

/** A run that has just begun. */
export function empty() {
  const document = find();
  document.front = { ...document.front, verdict: [], chain: [], pictures: [], doubts: [], sections: [], phases: [] };
  document.front.head = { ...document.front.head, state: 'running', ended_unix_ms: null, now: 'warming up' };
  document.timeline = { at: [], columns: [] };
  return document;
}

/** What a later torment may write: another schema, forms, units, roles and tones that are not known. */
export function newer() {
  const document = find();
  document.schema = 2;
  document.front.head.version = '9.0.0';
  document.front.sections[0].charts[0].form = 'hologram';
  document.front.sections[0].charts[0].y.unit = 'furlongs';
  document.front.sections[0].charts[0].series[0].role = 'unheard_of';
  document.front.sections[0].texts[0][0].tone = 'purple';
  delete document.front.sections[1].tables;
  document.front.sections.push(null);
  return document;
}

/** A load under which the target froze now and then. */
export function froze() {
  const document = find();
  const { front } = document;
  front.head = { ...front.head, command: 'run', id: '5c02e7d1', again: 'torment run 5c02e7d1.toml' };
  front.verdict = [
    text(['goal not met', 'bad'], ': p99 is 212 ms, 4 times what it may be'),
    text('the target ', ['froze', 'bad'], ' 9 times, for 180 to 240 ms, every 20 s'),
  ];
  const marks = Array.from({ length: 9 }, (_, i) => ({ from: 10 + 20 * i, to: 10.21 + 20 * i, label: 'frozen', tone: 'bad' }));
  const [rates] = front.sections.filter((section) => section.id === 'rates');
  for (const id of ['rate', 'response', 'heat']) rates.charts.find((chart) => chart.id === id).marks = marks;
  return document;
}

/** Figures of a machine: tables that are wider than a telephone, one of them without a cell, and sentences. */
export function probe() {
  const document = find();
  const sizes = [0, 2, 16, 64, 256];
  const table = (head, rows) => ({
    title: 'launch',
    head: [head, ...sizes.map((size) => `${size} MiB`), '64 MiB huge'],
    rows: rows.map(([name, ...figures]) => [name, ...figures].map((one) => piece(one))),
    text: [],
    runs: [],
  });
  document.front = {
    ...document.front,
    head: { ...document.front.head, command: 'probe', target: 'this machine', goal: '', id: '0be1a9f4', again: 'torment probe launch --blocks 6 --seed 1' },
    verdict: [text(['58 figures', 'strong'], ', each the median of its blocks, with its 95 % interval')],
    chain: [],
    doubts: [{ text: 'the hypervisor took 3 % of a processor away meanwhile', section: 'figures' }],
    phases: [],
    sections: [
      section('machine', 'The machine, and torment itself', { texts: [text('others used 0 % of a processor; machine a guest of a hypervisor, clock source tsc')] }),
      section('figures', 'Figures of the machine', {
        texts: [text('fork: a system call, a task with its kernel stack, and a copy of each mapping')],
        tables: [
          table('launch', [
            ['fork', '48 µs ±3 %', '87.4 µs ±3 %', '339 µs ±4 %', '1.24 ms ±5 %', '4.91 ms ±4 %', '68.5 µs ±2 %'],
            ['clone3, memory shared (vfork)', '14.7 µs ±2 %', '14.8 µs ±2 %', '', '14.9 µs ±2 %', '', ''],
          ]),
          table('launch and join', [
            ['fork', '115 µs ±3 %', '195 µs ±2 %', '721 µs ±3 %', '2.6 ms ±2 %', '10.4 ms ±4 %', '152 µs'],
            ['clone3, memory shared (vfork)', '24.4 µs ±2 %', '24.5 µs ±2 %', '', '24.6 µs', '', ''],
          ]),
          { title: 'launch', head: ['mappings', '0 MiB'], rows: [[piece('the worker itself'), piece('12')]], text: [], runs: [] },
        ],
        charts: [
          chart('sizes', 'Time against memory', 'points', axis('memory', 'bytes', true), axis('fork', 'seconds', true), [
            dots('fork', 'achieved', sizes.slice(1).map((size) => point(size * 2 ** 20, 5e-5 + size * 1.9e-5, { low: 4.8e-5 + size * 1.8e-5, high: 5.2e-5 + size * 2e-5 }))),
          ]),
        ],
      }),
    ],
  };
  document.timeline = { at: [], columns: [] };
  return document;
}

/** Two runs, compared. */
export function comparison() {
  const document = find();
  const [evidence, rates] = document.front.sections;
  document.front = {
    ...document.front,
    head: { ...document.front.head, command: 'compare', target: 'http://127.0.0.1:8181/fault/permit', goal: '', name: '', id: '7f3a91c2,5c02e7d1', machine: '', again: null },
    verdict: [text(['5c02e7d1 holds less', 'bad'], ': 198/s instead of 226/s, −12 %, sure')],
    chain: [],
    sections: [
      section('compare', 'What differs', {
        tables: [
          {
            title: 'verdicts',
            head: ['run', 'name', 'target', 'verdict'],
            rows: [
              [piece('7f3a91c2'), piece('before'), piece('http://127.0.0.1:8181/'), piece('holds 226/s', 'good')],
              [piece('5c02e7d1'), piece(''), piece('http://127.0.0.1:8181/'), piece('holds 198/s', 'good')],
            ],
            text: [1, 2, 3],
            runs: ['7f3a91c2', '5c02e7d1'],
          },
          {
            title: 'differences',
            head: ['figure', '7f3a91c2', '5c02e7d1', 'difference'],
            rows: [[piece('limit'), piece('226/s'), piece('198/s'), piece('−12 % (−14 to −10), sure', 'bad')]],
            text: [],
            runs: [],
          },
        ],
        charts: [evidence.charts[1], rates.charts[2]],
      }),
    ],
  };
  return document;
}
