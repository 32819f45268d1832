// The page of a server: a run that goes on, the history, a comparison, and what the page says when something is wrong.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { find } from '../../ui/samples/documents.mjs';
import { findings, lookThrough, open, overflow, plain, shot } from './browser.mjs';
import { runs, stage } from './stage.mjs';

let browser;
before(async () => {
  browser = await open();
});
after(() => browser?.close());

/** The first `rows` of a run that goes on. */
function begun(rows) {
  const document = find();
  document.front.head = { ...document.front.head, state: 'running', ended_unix_ms: null, now: 'trial 4: 320/s, 6 s of 10' };
  document.front.verdict = [];
  document.front.doubts = [];
  document.timeline = part(0, rows);
  return document;
}

/** Some rows of the run. */
function part(from, to) {
  const { at, columns } = find().timeline;
  return { at: at.slice(from, to), columns: columns.map((column) => ({ ...column, values: column.values.slice(from, to) })) };
}

const told = (page, id) => page.locator(`#chart-${id} [role=slider]`).getAttribute('aria-valuemax');
const until = (page, id, rows) =>
  page.waitForFunction(([id, rows]) => document.querySelector(`#chart-${id} [role=slider]`)?.getAttribute('aria-valuemax') === String(rows - 1), [id, rows]);

test('a run is followed while it goes on, through a server that leaves and comes back, to its end', async () => {
  const server = await stage({ home: '#/runs/7f3a91c2' });
  server.run('7f3a91c2', begun(40));
  const page = await browser.page();
  await page.goto(server.url());
  await page.waitForSelector('.verdict');
  assert.match(page.url(), /#\/runs\/7f3a91c2$/);
  assert.match(plain(await page.locator('.state').innerText()), /^live trial 4: 320\/s, 6 s of 10$/);
  await until(page, 'rate', 40);

  while (server.listeners() === 0) await new Promise((next) => setTimeout(next, 20));
  server.tell('rows', { generation: 1, from: 40, timeline: part(40, 60) }, '1:60');
  await until(page, 'rate', 60);
  server.tell('rows', { generation: 1, from: 60, timeline: part(60, 61) }, '1:61');
  const front = begun(0).front;
  front.head.now = 'trial 6: 190/s, 1 s of 10';
  front.verdict = [[{ text: 'holds at least 160/s so far', tone: 'plain' }]];
  server.tell('front', front);
  await until(page, 'rate', 61);
  await page.getByText('holds at least 160/s so far').waitFor();
  await page.getByText('trial 6: 190/s').first().waitFor();
  await shot(page, 'live');
  assert.deepEqual(await findings(page), []);
  // Rows were joined: another generation, and all anew.
  server.tell('rows', { generation: 2, from: 0, timeline: part(0, 30) }, '2:30');
  await until(page, 'rate', 30);

  await server.stop();
  await page.getByText('no longer answers').waitFor();
  assert.match(plain(await page.locator('.trouble').innerText()), /Below is what it had sent until .*The page keeps trying/);
  assert.equal(await told(page, 'rate'), '29');
  assert.match(await page.locator('.verdict').innerText(), /holds at least 160/);
  await shot(page, 'live-gone');

  await server.start();
  while (server.listeners() === 0) await new Promise((next) => setTimeout(next, 50));
  server.tell('rows', { generation: 2, from: 30, timeline: part(30, 50) }, '2:50');
  await until(page, 'rate', 50);
  await page.waitForFunction(() => !document.querySelector('.trouble'));

  server.run('7f3a91c2', find());
  server.tell('end', { state: 'ended' });
  await page.getByText('holds 198/s').first().waitFor();
  await until(page, 'rate', 180);
  assert.equal(plain(await page.locator('.state').innerText()), 'ended');
  assert.equal(server.listeners(), 0);
  await page.close();
  await server.stop();
});

test('the history: found, put in order, compared', async () => {
  const server = await stage();
  server.history(runs());
  const page = await browser.page();
  await page.goto(server.url());
  await page.waitForSelector('table.runs tbody tr');
  const rows = () => page.locator('table.runs tbody tr');
  assert.equal(await rows().count(), 30);
  assert.match(plain(await rows().first().innerText()), /demo find.* running/);
  assert.match(plain(await rows().nth(1).innerText()), /cut short/);
  await shot(page, 'history');
  assert.deepEqual(await findings(page), []);
  // A limit that is only known to be higher had a bar to the end of its axis, which was read as doubt, or as headroom.
  const pictures = page.locator('.col-limit svg.limit');
  assert.equal(await pictures.locator('.more').count(), 1);
  assert.equal(await pictures.locator('.interval').count(), (await pictures.count()) - 1);

  const filter = page.getByRole('searchbox');
  await filter.fill('goal machine:laptop');
  assert.equal(await rows().count(), 2);
  assert.match(await page.locator('.found').innerText(), /2 of 30 runs/);
  await filter.fill('tag:nightly');
  assert.equal(await rows().count(), 3);
  await filter.fill('nothing like it');
  assert.match(await page.locator('.nothing').innerText(), /No run matches/);
  await page.getByRole('button', { name: 'show all' }).click();
  const begun = page.getByLabel('started');
  await begun.selectOption({ label: 'last 24 hours' });
  await page.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 3);
  await begun.selectOption({ label: 'any time' });
  await page.getByLabel('verdict').selectOption({ label: 'not met' });
  await page.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 8);
  assert.ok(server.asked().includes('/api/history?limit=10000&verdict=not-met'), server.asked().join(' '));
  await page.getByLabel('verdict').selectOption({ label: 'any' });
  await page.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 30);

  await page.getByRole('button', { name: 'duration' }).click();
  assert.equal(await page.locator('th.col-lasted').getAttribute('aria-sort'), 'ascending');
  assert.match(plain(await rows().first().innerText()), /65 s/);

  const limit = page.getByRole('button', { name: 'holds 1926/s' });
  await limit.click();
  await page.locator('#chart-limit').scrollIntoViewIfNeeded();
  await page.locator('#chart-limit canvas').waitFor();
  assert.match(await page.locator('#chart-limit').innerText(), /limit of http.* over time/i);
  await shot(page, 'history-limit');
  assert.deepEqual(await findings(page), []);
  await limit.click();
  assert.equal(await page.locator('#chart-limit').count(), 0);
  assert.equal(await page.locator('a[href="#/compare/run24,run26"]').count(), 1);

  const tick = (index) => rows().nth(index).getByRole('checkbox');
  await tick(0).check();
  assert.match(await page.locator('.compare').innerText(), /select another/i);
  await tick(2).check();
  for (let i = 3; i < 9; i++) await tick(i).check();
  assert.equal(await tick(9).isDisabled(), true);
  for (let i = 3; i < 9; i++) await tick(i).uncheck();
  const both = find();
  both.front.head = { ...both.front.head, command: 'compare', target: '2 runs', id: 'run0,run2' };
  server.compare(both);
  await page.getByRole('link', { name: 'compare 2 runs' }).click();
  await page.waitForSelector('.verdict');
  assert.match(page.url(), /#\/compare\/run0,run2$/);
  assert.ok(server.asked().includes('/api/compare?runs=run0,run2') || server.asked().includes('/api/compare?runs=run0%2Crun2'), server.asked().join(' '));
  await page.goBack();
  assert.equal(await tick(0).isChecked(), true, 'what was chosen is kept');
  await page.close();
  await server.stop();
});

test('the history on a telephone, and in the dark', async () => {
  const server = await stage();
  server.history(runs());
  const page = await browser.page();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(server.url());
  await page.waitForSelector('table.runs tbody tr');
  assert.deepEqual(await overflow(page), { more: 0, names: [] });
  await shot(page, 'history-360');
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await findings(page), []);
  await shot(page, 'history-dark');
  await page.close();
  await server.stop();
});

test('a history without runs says how to make one', async () => {
  const server = await stage();
  const page = await browser.page();
  await page.goto(server.url());
  assert.match(await page.locator('.empty').innerText(), /torment find demo/);
  await page.close();
  await server.stop();
});

test('a table leads to other runs', async () => {
  const server = await stage();
  const document = find();
  document.front.sections[2].tables[0].runs = document.front.sections[2].tables[0].rows.map((_, i) => (i === 1 ? 'other run' : null));
  server.run('a', document);
  server.run(encodeURIComponent('other run'), document);
  const page = await browser.page();
  await page.goto(server.url('#/runs/a'));
  const link = page.locator('#section-search tbody a');
  await link.first().waitFor();
  assert.equal(await link.count(), 1);
  assert.equal(await link.getAttribute('href'), '#/runs/other%20run');
  await link.click();
  await page.waitForFunction(() => location.hash === '#/runs/other%20run' && document.querySelector('.verdict'));
  await lookThrough(page);
  await page.close();
  await server.stop();
});

test('a link shows the part of the run that it was made of', async () => {
  const server = await stage();
  server.run('a', find());
  const page = await browser.page();
  await page.goto(server.url('#/runs/a?from=60&to=120'));
  await page.locator('.zoomed').getByText('charts show 1:00 – 2:00').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => window.location.hash === '#/runs/a');
  await page.close();
  await server.stop();
});

test('what is wrong is said: no token, an unknown run, an address that is none', async () => {
  const server = await stage({ token: 'secret' });
  server.history(runs());
  server.run('a', find());
  const page = await browser.page();
  await page.goto(server.url());
  await page.locator('.trouble').waitFor();
  assert.match(await page.locator('.trouble').innerText(), /has no token.*Open the address that torment printed/);
  await page.goto(server.url('?token=wrong#/runs/a'));
  await page.locator('.trouble').getByText('does not accept').waitFor();

  server.forget();
  await page.goto(server.url('?token=secret#/runs/a'));
  await page.waitForSelector('.verdict');
  await page.goto(server.url('?token=secret#/'));
  await page.waitForSelector('table.runs');
  const without = server.asked().filter((asked) => asked.startsWith('/api/') && !asked.includes('token=secret'));
  assert.deepEqual(without, []);

  await page.goto(server.url('?token=secret#/runs/nobody'));
  await page.locator('.trouble').getByText('no run has the id nobody').waitFor();
  await page.getByRole('link', { name: 'All runs' }).first().click();
  await page.waitForSelector('table.runs');
  await page.goto(server.url('?token=secret#/nowhere/at/all'));
  await page.getByText('No such page').waitFor();
  await page.close();
  await server.stop();
});
