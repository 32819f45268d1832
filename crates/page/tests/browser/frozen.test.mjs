// A report in a file, opened without a network: what a reader finds in it, with eyes, keys, a narrow screen, on paper.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { attempt, empty, find, froze, large, markup, newer, sheet } from '../../ui/samples/documents.mjs';
import { findings, lookThrough, open, overflow, plain, shot } from './browser.mjs';

let browser;
before(async () => {
  browser = await open();
  await browser.context.setOffline(true);
});
after(() => browser?.close());

/** The page with a document, as it is when it can be read. */
async function report(document, { width = 1280, height = 900, scheme = 'light' } = {}) {
  const page = await browser.page();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme });
  await page.goto(browser.file(document));
  await page.waitForSelector('main *');
  return page;
}

/** Nothing went wrong in it, and it asked for nothing but itself. */
async function done(page) {
  assert.deepEqual(page.wrong, []);
  assert.deepEqual(
    page.asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
    [],
  );
  await page.close();
}

const chart = (page, id) => page.locator(`#chart-${id}`);
const slider = (page, id) => chart(page, id).getByRole('slider');
/** Waits until a chart says something at its cursor. */
const said = (page, id, pattern) =>
  page.waitForFunction(
    ([id, pattern]) => new RegExp(pattern).test(document.querySelector(`#chart-${id} [role=slider]`).getAttribute('aria-valuetext').replaceAll('\u00a0', ' ')),
    [id, pattern],
  );
const spoken = async (page, id) => plain(await slider(page, id).getAttribute('aria-valuetext'));

test('the verdict, why to doubt it, and the evidence', async () => {
  const page = await report(find());
  const verdict = await page.locator('.verdict p').allInnerTexts();
  assert.equal(plain(verdict[0]), 'holds 198/s, between 198 and 202: above that the queue grows by 4 requests a second.');
  assert.match(verdict[1], /190 of its 200 workers wait for one of 10 permits/);
  assert.match(await page.title(), /holds 198\/s/);
  assert.match(plain(await page.locator('.head').innerText()), /goal zero-drop.*duration 3 min run 7f3a91c2/);

  // The gravest doubt stands with the verdict, and leads to the others.
  const doubted = page.locator('.verdict .doubted');
  assert.match(plain(await doubted.innerText()), /^doubt: One of 14 trials is void.*\(see The search\) 1 more reason for doubt$/);
  const doubts = (await page.locator('.doubts li').allInnerTexts()).map(plain);
  assert.equal(doubts.length, 1);
  assert.doesNotMatch(doubts[0], /One of 14 trials is void/);
  // And again where the figures are.
  const search = page.locator('#section-search');
  assert.match(await search.locator('.doubt').innerText(), /One of 14 trials is void/);
  assert.equal(await page.locator('#section-rates .doubt').count(), 0);

  assert.equal(await page.locator('.section').count(), 4);
  assert.match(await page.locator('#section-evidence').innerText(), /hold each permit for less time/);
  const row = search.locator('tbody tr').nth(3);
  assert.deepEqual((await row.locator('th, td').allInnerTexts()).map(plain), ['4', '320/s', '198/s', '4.2 %', '1.4 s', '3.9 s', 'bad']);
  await shot(page, 'report');
  await lookThrough(page);
  await shot(page, 'report-whole', { fullPage: true });
  await done(page);
});

test('the way of a request: a row, on a telephone a column; each station leads to its charts', async () => {
  const page = await report(find());
  const stations = page.getByRole('list', { name: 'Request path' }).getByRole('listitem');
  const boxes = () => stations.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  assert.equal(await stations.count(), 6);
  const row = await boxes();
  assert.ok(row.every((box) => box.top < row[0].bottom), 'one row');
  assert.ok(row[5].width < row[3].width && row[5].height < row[3].height, 'small, for nothing is known of it');
  assert.deepEqual(
    await stations.evaluateAll((all) => all.map((one) => one.querySelector('.mark')?.textContent ?? '')),
    ['', '', '', '', 'gave first', ''],
  );
  const pool = stations.nth(4).locator('table');
  assert.deepEqual((await pool.locator('thead th').allInnerTexts()).map(plain), ['well', 'degraded']);
  const cells = await pool.locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(cells, [
    ['in use', '8 of 10', '10 of 10'],
    ['time in it', '50 ms each', '50.5 ms each'],
    ['waiting before it', '0 wait', '190 wait'],
  ]);
  assert.equal(await stations.nth(5).locator('table, a').count(), 0, 'of what is not known nothing is shown');

  await stations.nth(2).getByRole('link').focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'section-rates');

  await page.setViewportSize({ width: 390, height: 800 });
  const column = await boxes();
  assert.equal(new Set(column.map((box) => box.left)).size, 1, 'one column');
  assert.ok(column.every((box, index) => index === 0 || box.top > column[index - 1].bottom));
  assert.deepEqual(await overflow(page), { more: 0, names: [] });
  await done(page);
});

test('every chart is a table too', async () => {
  const page = await report(find());
  await chart(page, 'rate').getByRole('button', { name: /^table/ }).click();
  const rows = await chart(page, 'rate').locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.ok(rows.length > 30 && rows.length <= 60, `${rows.length} rows`);
  assert.ok(rows.some((row) => row[1] === '320/s' && row[4] === 'trial 4: 320/s, bad'), 'the largest rate is among them');
  for (const id of ['threads', 'response', 'heat', 'trials', 'knee', 'percentiles', 'effects', 'heap']) {
    await chart(page, id).getByRole('button', { name: /^table/ }).click();
    assert.ok((await chart(page, id).locator('tbody tr').count()) > 0, id);
  }
  const effects = await chart(page, 'effects').locator('tbody tr').first().innerText();
  assert.match(plain(effects), /a pool of 20 ×1.97 ×1.92 – ×2.02 good/);
  const heat = await chart(page, 'heat').locator('tbody').innerText();
  assert.match(plain(heat), /ms – /);
  assert.deepEqual(await findings(page), []);
  await done(page);
});

test('figures of a machine are bars, in words and as a table too, on any screen', async () => {
  const page = await report(sheet());
  const launch = chart(page, 'figures-0');
  const drawn = launch.getByRole('img');
  assert.match(plain(await drawn.getAttribute('aria-label')), /^launch: fork, 0 MiB, 48 µs \(46.1 µs – 49.4 µs\); fork, 64 MiB, 1.24 ms/);
  const parts = await launch.locator('title').allTextContents();
  assert.ok(parts.map(plain).includes('fork, 64 MiB: 16,384 pages × 72.9 ns, 1.19 ms'), parts.join('; '));
  assert.match(plain(await chart(page, 'figures-1').locator('.intervals svg').textContent()), /4.39 µs \(4.21 µs – 4.52 µs\) · doubtful/);
  await launch.getByRole('button', { name: /^table/ }).click();
  assert.equal(await launch.locator('tbody tr').count(), 6, 'four bars and the two parts of one');
  assert.deepEqual(await findings(page), []);
  await shot(page, 'sheet', { fullPage: true });
  await page.setViewportSize({ width: 360, height: 740 });
  assert.deepEqual(await overflow(page), { more: 0, names: [] });
  await shot(page, 'sheet-360', { fullPage: true });
  await done(page);
});

test('one axis of time: the cursor and the part shown are those of all charts', async () => {
  const page = await report(find(), { height: 1500 });
  const from = slider(page, 'rate');
  await from.scrollIntoViewIfNeeded();
  const box = await from.boundingBox();
  const at = (share) => [box.x + 66 + (box.width - 80) * share, box.y + box.height / 2];

  await page.mouse.move(...at(0.222));
  await page.mouse.move(...at(0.223));
  await page.waitForFunction(() => document.querySelector('#chart-response .reading')?.textContent !== '');
  const readings = await Promise.all(['rate', 'response'].map((id) => chart(page, id).locator('.reading').innerText()));
  assert.equal(readings[0], readings[1]);
  assert.match(readings[0], /trial 4: 320\/s, bad/);
  assert.equal(plain(await chart(page, 'rate').locator('.series').first().innerText()), 'offered 320/s');
  await shot(page, 'report-hover');

  await page.mouse.move(...at(0.5));
  await page.mouse.down();
  await page.mouse.move(...at(0.6));
  await page.mouse.move(...at(0.75));
  await page.mouse.up();
  // A page that scrolls under a resting pointer moves the cursor too.
  await page.mouse.move(2, 2);
  const zoomed = page.locator('.zoomed');
  await zoomed.getByText('charts show').waitFor();
  assert.match(plain(await zoomed.innerText()), /charts show 1:(2[89]|3[012]) – 2:1[3-7]/);
  for (const id of ['rate', 'response', 'trials', 'threads']) {
    await slider(page, id).focus();
    await page.keyboard.press('Home');
    const first = id === 'trials' ? 'trial 8' : '^1:(2[89]|3[0123])';
    await said(page, id, first);
  }
  await shot(page, 'report-zoomed');

  // The address keeps the part shown, until all is shown again.
  await page.waitForFunction(() => /^#\?from=[\d.]+&to=[\d.]+$/.test(window.location.hash));
  const linked = await browser.page();
  await linked.goto(page.url());
  await linked.locator('.zoomed').getByText('charts show').waitFor();
  assert.equal(await linked.locator('.zoomed').innerText(), await zoomed.innerText());
  await done(linked);

  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('.zoomed button') && window.location.hash === '');
  await slider(page, 'response').focus();
  await page.keyboard.press('Home');
  await said(page, 'response', '^1 s');
  await done(page);
});

/** Where less is better the axis once ran from right to left, and was read the wrong way round. */
test('numbers rise to the right, whether more or less of it is better', async () => {
  const document = attempt();
  const [more] = document.front.pictures;
  const turned = { better: 'worse', worse: 'better' };
  const bands = more.bands.map((band) => ({ ...band, name: turned[band.name] ?? band.name }));
  const less = { ...more, id: 'effects-1', title: 'p99 (less is better)', bands };
  document.front.pictures = [more, less];
  const page = await report(document);
  const middle = async (id, text) => {
    const box = await chart(page, id).locator('text.bound').getByText(text, { exact: true }).boundingBox();
    return box.x + box.width / 2;
  };
  assert.ok((await middle('effects-0', 'worse')) < (await middle('effects-0', 'better')), 'more is better');
  assert.ok((await middle('effects-1', 'better')) < (await middle('effects-1', 'worse')), 'less is better');
  const named = (await chart(page, 'effects-1').locator('text.tick').allTextContents()).filter((text) => text.startsWith('×'));
  const place = async (text) => (await chart(page, 'effects-1').locator('text.tick').getByText(text, { exact: true }).boundingBox()).x;
  assert.ok(named.length > 2 && (await place(named[0])) < (await place(named.at(-1))), `${named}`);
  await shot(page, 'effects-two-directions');
  await done(page);
});

test('what a hollow mark means is in the key, and so is the strip of a void trial', async () => {
  const document = find();
  const knee = document.front.sections.flatMap((section) => section.charts).find((chart) => chart.id === 'knee');
  knee.hollow = 'void';
  const page = await report(document);
  await lookThrough(page);
  const key = async (id) => (await chart(page, id).locator('.legend .shape').allInnerTexts()).map(plain);
  assert.deepEqual(await key('knee'), ['good', 'void']);
  assert.deepEqual((await key('rate')).slice(0, 4), ['strip above, each trial:', 'good', 'bad', 'void']);
  await done(page);
});

/** The spike of a second stood half a second before the mark of the freeze that made it. */
test('what happened within a second is drawn within it, where the mark of it is', async () => {
  const document = froze();
  const { at } = document.timeline;
  const nth = 41;
  const rates = document.front.sections.find((section) => section.id === 'rates').charts;
  for (const one of rates) if (one.marks?.length > 0) one.marks = [{ from: at[nth] + 0.3, to: at[nth] + 0.7, label: 'frozen', tone: 'bad' }];
  const page = await report(document);
  await slider(page, 'rate').focus();
  await page.keyboard.press('Home');
  for (let step = 0; step < nth; step++) await page.keyboard.press('ArrowRight');
  await said(page, 'rate', 'frozen for 400 ms');
  const cursor = await chart(page, 'rate').locator('.u-cursor-x').boundingBox();
  const over = await chart(page, 'rate').locator('.u-over').boundingBox();
  const [first, last] = [Math.min(0, at[0]), Math.max(...document.front.phases.map((phase) => phase.to), at.at(-1) + 0.5)];
  const moment = first + ((cursor.x - over.x) / over.width) * (last - first);
  assert.ok(Math.abs(moment - (at[nth] + 0.5)) < 0.2, `the cursor is at ${moment} s, the second is ${at[nth]} s to ${at[nth] + 1} s`);
  await done(page);
});

test('keys move the cursor, and it is said what is there', async () => {
  const page = await report(find());
  // The first stop leads past the bar.
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');

  await slider(page, 'rate').focus();
  await page.keyboard.press('ArrowRight');
  for (let i = 0; i < 39; i++) await page.keyboard.press('ArrowRight');
  await said(page, 'rate', '^40 s · trial 4: 320/s, bad, offered 320/s, achieved 19\\d/s, good 1\\d\\d/s');
  await page.keyboard.press('+');
  await page.locator('.zoomed').getByText('charts show').waitFor();
  await page.keyboard.press('Escape');

  await slider(page, 'trials').focus();
  await page.keyboard.press('End');
  await said(page, 'trials', 'trial 14');
  await slider(page, 'heat').focus();
  await page.keyboard.press('End');
  await said(page, 'heat', 'in all');
  await done(page);
});

test('a series can be hidden', async () => {
  const page = await report(find());
  for (const id of ['rate', 'threads', 'knee']) {
    const button = chart(page, id).locator('.series').first();
    await button.scrollIntoViewIfNeeded();
    assert.equal(await button.getAttribute('aria-pressed'), 'true');
    await button.click();
    assert.equal(await button.getAttribute('aria-pressed'), 'false');
  }
  await slider(page, 'rate').focus();
  await page.keyboard.press('End');
  await said(page, 'rate', 'achieved');
  assert.doesNotMatch(await spoken(page, 'rate'), /offered/);
  await done(page);
});

for (const scheme of ['light', 'dark']) {
  test(`nothing serious stands in anybody's way, ${scheme}`, async () => {
    const page = await report(find(), { scheme });
    await lookThrough(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), scheme);
    assert.deepEqual(await findings(page), []);
    await shot(page, `report-${scheme}`, { fullPage: true });
    await done(page);
  });
}

test('the colours that were chosen are kept', async () => {
  const page = await report(find());
  const button = page.getByRole('button', { name: 'theme' });
  await button.click();
  await button.click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), 'dark');
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), 'dark');
  await page.getByRole('button', { name: 'theme' }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), 'light');
  await done(page);
});

test('a telephone shows all of it', async () => {
  const page = await report(find(), { width: 360, height: 740 });
  await lookThrough(page);
  assert.deepEqual(await overflow(page), { more: 0, names: [] });
  assert.deepEqual(await findings(page), []);
  const lefts = await page.locator('#section-rates .chart').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
  assert.equal(new Set(lefts).size, 1, 'one column');
  await shot(page, 'report-360', { fullPage: true });
  await page.setViewportSize({ width: 1280, height: 900 });
  const wide = await page.locator('#section-rates .chart').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
  assert.equal(new Set(wide).size, 2, 'two columns');
  await done(page);
});

test('a long table is folded, on a screen', async () => {
  const document = find();
  const [table] = document.front.sections[2].tables;
  table.rows = Array.from({ length: 40 }, (_, i) => [{ text: `row ${i}`, tone: 'plain' }, ...table.rows[0].slice(1)]);
  const page = await report(document);
  const last = page.locator('#section-search').getByText('row 39', { exact: true });
  assert.equal(await last.isVisible(), false);
  await page.getByRole('button', { name: 'show all 40 rows' }).click();
  assert.equal(await last.isVisible(), true);
  await page.getByRole('button', { name: 'show the first 10 rows' }).click();
  assert.equal(await last.isVisible(), false);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await last.isVisible(), true, 'on paper it is whole');
  await done(page);
});

test('on paper every chart is drawn, and the doubts stay', async () => {
  const page = await report(find(), { scheme: 'dark' });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.waitForFunction(() => document.querySelectorAll('.plot canvas').length === document.querySelectorAll('.plot').length);
  const widths = await page.locator('.plot .uplot').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
  assert.ok(widths.length >= 9);
  assert.deepEqual(new Set(widths), new Set([660]));
  assert.equal(await page.locator('.bar').isVisible(), false);
  assert.equal(await page.locator('.doubts').isVisible(), true);
  assert.equal(await page.locator('#section-search .doubt').isVisible(), true);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), 'light');
  await page.setViewportSize({ width: 700, height: 900 });
  await shot(page, 'report-print', { fullPage: true });
  const pdf = await page.pdf({ format: 'A4', path: `${process.env.SCREENSHOTS ?? '.'}/report.pdf` });
  assert.ok(pdf.length > 50_000);
  await done(page);
});

const GOLDEN = new URL('../../../view/tests/golden/page/', import.meta.url);
for (const name of existsSync(GOLDEN) ? readdirSync(GOLDEN).filter((name) => name.endsWith('.json')) : []) {
  test(`all of what torment itself says in ${name} is shown`, async () => {
    const document = JSON.parse(readFileSync(new URL(name, GOLDEN), 'utf8'));
    const { front } = document;
    const page = await report(document);
    await lookThrough(page);
    const words = plain(await page.locator('main').innerText());
    const text = (pieces) => plain(pieces.map((piece) => piece.text).join(''));
    for (const sentence of front.verdict) assert.ok(words.includes(text(sentence)), text(sentence));
    for (const doubt of front.doubts) assert.ok(words.includes(plain(doubt.text)), doubt.text);
    for (const section of front.sections) {
      assert.ok(words.includes(plain(section.title)), section.title);
      for (const said of section.texts) assert.ok(words.includes(text(said)), text(said));
      for (const one of section.charts) {
        const drawn = chart(page, one.id);
        assert.equal(await drawn.locator('canvas, .intervals svg').count(), 1, one.id);
        assert.equal(await drawn.locator('.nothing').count(), 0, one.id);
      }
    }
    assert.deepEqual(await findings(page), []);
    await shot(page, `golden-${name.replace('.json', '')}`, { fullPage: true });
    await page.setViewportSize({ width: 360, height: 740 });
    await lookThrough(page);
    assert.deepEqual(await overflow(page), { more: 0, names: [] });
    await shot(page, `golden-${name.replace('.json', '')}-360`, { fullPage: true });
    await done(page);
  });
}

test('names that look like markup are text', async () => {
  const page = await report(markup());
  await lookThrough(page);
  const evil = markup().front.head.target;
  assert.equal(await page.locator('.verdict p').first().innerText(), evil);
  assert.equal(await page.locator('.section h2').first().evaluate((h2) => h2.firstChild.textContent), evil);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  assert.equal(await page.locator('main img, main script').count(), 0);
  await done(page);
});

test('a document of a newer torment shows what can be read', async () => {
  const page = await report(newer());
  assert.match(await page.locator('main').getByRole('status').first().innerText(), /format 2, written by torment 9\.0\.0/);
  assert.match(await page.locator('.verdict').innerText(), /holds 198\/s/);
  await lookThrough(page);
  assert.ok((await page.locator('.plot canvas').count()) > 5);
  await done(page);
});

test('a run that has just begun', async () => {
  const page = await report(empty());
  assert.match(await page.locator('.verdict').innerText(), /Nothing is known yet/);
  assert.match(await page.locator('.state').innerText(), /warming up/);
  assert.deepEqual(await findings(page), []);
  await done(page);
});

test('a report that is none says so', async () => {
  const page = await report('{"front": 3}');
  assert.match(await page.locator('main').innerText(), /This report cannot be read/);
  await done(page);
});

test('half an hour of eighty figures: words first, charts when they are seen', async (t) => {
  const page = await browser.page();
  await page.goto(browser.file(large()));
  await page.waitForSelector('.verdict p');
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
  const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  const loaded = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd);
  t.diagnostic(`first paint after ${painted.toFixed(0)} ms, all words after ${loaded.toFixed(0)} ms`);
  const plots = await page.locator('.plot').count();
  assert.equal(plots, 20);
  const drawn = await page.locator('.plot canvas').count();
  assert.ok(drawn < plots / 2, `${drawn} of ${plots} charts were drawn before anybody saw them`);
  await lookThrough(page);
  assert.equal(await page.locator('.plot canvas').count(), plots);
  await done(page);
});
