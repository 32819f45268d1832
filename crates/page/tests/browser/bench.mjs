// How quick the page is, beside an empty page in the same browser: `bench.mjs [REPORT.html]`, after `make page`. A benchmark, no test: it
// prints figures, and nothing fails by them. A run of 10,000 seconds takes three hours, so its rows are those of a short run again and
// again: of the report named, or of a document that the tests keep.

import { existsSync, readFileSync } from 'node:fs';
import { open } from './browser.mjs';

const SECONDS = 10_000;
/** As many rows as torment puts into a page, and as many phases. */
const ROWS = 1_500;
const PHASES = 1_000;
const TRIALS = 30;
/** How long the cursor moves, and how often a page is loaded. */
const MOVES_MS = 5_000;
const LOADS = 7;
const AIM = { frames: 50, painted_ms: 300 };
const KEPT = new URL('../../../view/tests/golden/page/search.json', import.meta.url);

if (!existsSync(process.env.CHROMIUM ?? '/usr/bin/chromium')) {
  console.log('SKIPPED: no chromium; on Debian: apt-get install chromium');
  process.exit();
}

const [named] = process.argv.slice(2);
const document = named === undefined ? JSON.parse(readFileSync(KEPT, 'utf8')) : inside(readFileSync(named, 'utf8'));

/** The document of a report. */
function inside(page) {
  const found = /id="document">(.*?)<\/script/s.exec(page);
  if (!found) throw new Error(`${named} is no report: make one with torment report RUN -o FILE.html`);
  return JSON.parse(found[1]);
}

/** The run again and again, until it has so many rows. */
function repeated(document, rows) {
  const { at, columns } = document.timeline;
  const length = Math.ceil(Math.max(at.at(-1), ...document.front.phases.map((phase) => phase.to))) + 1;
  const times = Math.ceil(rows / at.length);
  const all = (one) => Array.from({ length: times }, (_, nth) => one(nth * length)).flat();
  const later = (by) => (phase) => ({ ...phase, from: phase.from + by, to: phase.to + by });
  const front = structuredClone(document.front);
  const timeline = {
    at: all((by) => at.map((one) => one + by)).slice(0, rows),
    columns: columns.map((column) => ({ ...column, values: all(() => column.values).slice(0, rows) })),
  };
  const [end] = timeline.at.slice(-1);
  front.phases = all((by) => front.phases.map(later(by))).filter((phase) => phase.from < end).slice(-PHASES);
  for (const chart of front.sections.flatMap((section) => section.charts)) {
    chart.marks = all((by) => (chart.marks ?? []).map(later(by))).slice(-PHASES);
    // However long a run is, its heat map has as many columns: wider ones.
    if (chart.heat) chart.heat.x = chart.heat.x.map((edge) => edge * times);
  }
  return { ...document, front, timeline };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

const browser = await open();
const empty = browser.file('<!doctype html><html lang="en"><title>empty</title><body style="margin:0;height:20000px">empty</body></html>');

/** When something was first seen, in milliseconds since the page was asked for. */
async function painted(address) {
  const page = await browser.page();
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
  const at = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  await page.close();
  return at;
}

/** Moves the cursor over some places of a page, for five seconds in all, and counts the frames meanwhile. */
async function moved(address, selector) {
  const page = await browser.page();
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(address);
  const places = selector === null ? [null] : await page.locator(selector).all();
  // First everything is drawn, so that it can follow.
  for (const place of places) {
    await place?.scrollIntoViewIfNeeded();
    await place?.locator('canvas').waitFor();
  }
  await page.evaluate(() => {
    const count = (window.count = { on: false, frames: 0, ms: 0, longest: 0 });
    let before = performance.now();
    const frame = (now) => {
      if (count.on) {
        count.frames++;
        count.ms += now - before;
        count.longest = Math.max(count.longest, now - before);
      }
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const cdp = await browser.context.newCDPSession(page);
  await cdp.send('Performance.enable');
  /** For how long the page has worked itself, before anything is painted, and how long it is there, in seconds. */
  const worked = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics');
    const of = (name) => metrics.find((metric) => metric.name === name).value;
    return [of('ScriptDuration') + of('RecalcStyleDuration') + of('LayoutDuration'), of('Timestamp')];
  };
  let [moves, busy, whole] = [0, 0, 0];
  for (const place of places) {
    await place?.scrollIntoViewIfNeeded();
    const box = (await place?.boundingBox()) ?? { x: 0, y: 300, width: 1280, height: 200 };
    await page.waitForTimeout(200);
    await page.evaluate(() => requestAnimationFrame(() => (window.count.on = true)));
    const begun = await worked();
    const until = performance.now() + MOVES_MS / places.length;
    for (let step = 0; performance.now() < until; step++) {
      const share = Math.abs(((step / 60) % 2) - 1);
      await page.mouse.move(box.x + 70 + (box.width - 90) * share, box.y + box.height * (0.4 + 0.2 * share));
      moves++;
    }
    await page.evaluate(() => (window.count.on = false));
    const ended = await worked();
    busy += ended[0] - begun[0];
    whole += ended[1] - begun[1];
  }
  const count = await page.evaluate(() => window.count);
  await page.close();
  return { places: places.length, moves, rate: (count.frames * 1000) / count.ms, longest: count.longest, busy: busy / whole };
}

const told = (value, digits = 0) => value.toFixed(digits).padStart(7);
const aim = (is) => (is ? 'reached' : 'NOT reached');

console.log(`chromium ${browser.context.browser()?.version() ?? ''} without a GPU, 1280 × 800; rows of ${named ?? 'a document that the tests keep'}, repeated`);
try {
  const reference = await moved(empty, null);
  for (const rows of [ROWS, SECONDS]) {
    const long = repeated(document, rows);
    const { places, moves, rate, longest, busy } = await moved(browser.file(long), '.section .plot');
    const what = rows === SECONDS ? `${SECONDS} seconds, a row each` : `as torment joins them, ${rows} rows`;
    console.log(`\ncursor over ${places} charts, ${what}`);
    console.log(`  frames a second  ${told(rate, 1)}   an empty page ${told(reference.rate, 1)}   aim ${AIM.frames}: ${aim(rate >= AIM.frames)}`);
    console.log(`  longest frame    ${told(longest)} ms                ${told(reference.longest)} ms`);
    console.log(`  script, layout   ${told(busy * 100)} %                 ${told(reference.busy * 100)} %   of the time; the rest paints, here without a GPU`);
    console.log(`  moves taken      ${told(moves)}                   ${told(reference.moves)}`);
  }
  const per = Math.max(1, document.front.phases.length);
  const search = repeated(document, Math.ceil((document.timeline.at.length * TRIALS) / per));
  const [address, of] = [browser.file(search), search.front.phases.length];
  const [page, nothing] = [[], []];
  for (let load = 0; load < LOADS; load++) {
    nothing.push(await painted(empty));
    page.push(await painted(address));
  }
  console.log(`\nfirst paint of a search of ${of} trials, ${search.timeline.at.length} rows; the middle of ${LOADS}, with the least and the most`);
  const range = (values) => `${told(median(values))} ms (${Math.min(...values).toFixed(0)} – ${Math.max(...values).toFixed(0)})`;
  console.log(`  first paint      ${range(page)}   an empty page ${range(nothing)}   aim ${AIM.painted_ms} ms: ${aim(median(page) <= AIM.painted_ms)}`);
} finally {
  await browser.close();
}
