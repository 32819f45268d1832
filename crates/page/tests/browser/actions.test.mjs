// What a reader takes away from a page: the command, a link, files, paper.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { attempt, find } from '../../ui/samples/documents.mjs';
import { findings, open, overflow, plain, shot } from './browser.mjs';
import { stage } from './stage.mjs';

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"><title>a < b & "c" </script></title></svg>';

let browser;
before(async () => {
  browser = await open();
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
});
after(() => browser?.close());

const actions = (page) => page.getByRole('group', { name: 'Copy, save, print' });
const names = async (page) => (await actions(page).getByRole('button').allInnerTexts()).map(plain);
const press = (page, name) => actions(page).getByRole('button', { name }).click();
const said = (page, text) => actions(page).getByRole('status').getByText(text).waitFor();
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

/** The file that a press makes. */
async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent('download'), press(page, name)]);
  await said(page, `saved ${download.suggestedFilename()}`);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

test('a report gives its command, a link to the part shown, its picture and its figures, and can be printed', async () => {
  const page = await browser.page();
  await page.addInitScript(() => (window.print = () => (window.printed = (window.printed ?? 0) + 1)));
  const file = browser.file(attempt(), PICTURE);
  await page.goto(file);
  await page.waitForSelector('.verdict');
  assert.deepEqual(await names(page), ['copy command', 'copy link', 'save image', 'save data', 'print']);

  // By the keyboard alone, after the bar.
  await page.getByRole('button', { name: 'theme' }).focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await said(page, 'copied the command');
  assert.equal(await clipboard(page), find().front.head.again);

  await press(page, 'copy link');
  await said(page, 'copied the link');
  assert.equal(await clipboard(page), file);
  await page.locator('#chart-rate [role=slider]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('+');
  await page.locator('.zoomed').getByText('charts show').waitFor();
  await press(page, 'copy link');
  await said(page, 'copied the link, with the part shown');
  const link = await clipboard(page);
  assert.match(link.slice(file.length), /^#\?from=[\d.]+&to=[\d.]+$/);
  const linked = await browser.page();
  await linked.goto(link);
  await linked.locator('.zoomed').getByText('charts show').waitFor();
  assert.equal(await linked.locator('.zoomed').innerText(), await page.locator('.zoomed').innerText());
  await linked.close();

  assert.deepEqual(await saved(page, 'save image'), { name: 'run-7f3a91c2.svg', text: PICTURE });
  const figures = await saved(page, 'save data');
  assert.equal(figures.name, 'run-7f3a91c2.json');
  assert.deepEqual(JSON.parse(figures.text), attempt());
  await press(page, 'print');
  assert.equal(await page.evaluate(() => window.printed), 1);
  await shot(page, 'report-actions');
  assert.deepEqual(page.wrong, []);
  await page.close();
});

test('what is not known is not offered', async () => {
  const document = find();
  delete document.front.head.again;
  const page = await browser.page();
  await page.goto(browser.file(document));
  await page.waitForSelector('.verdict');
  assert.deepEqual(await names(page), ['copy link', 'save data', 'print']);
  await page.close();
});

test('where the clipboard is closed, the text is selected instead', async () => {
  const page = await browser.page();
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(browser.file(find()));
  await page.waitForSelector('.verdict');
  await press(page, 'copy command');
  const field = page.getByRole('textbox', { name: 'the command, to be copied' });
  await field.waitFor();
  await said(page, 'copy it with Ctrl+C');
  const selected = () => page.evaluate(() => {
    const { activeElement: field } = document;
    return field.value.slice(field.selectionStart, field.selectionEnd);
  });
  assert.equal(await selected(), find().front.head.again);
  assert.deepEqual(await findings(page), []);
  assert.deepEqual(await overflow(page), { more: 0, names: [] });
  await shot(page, 'by-hand-390');
  await press(page, 'copy link');
  await page.getByRole('textbox', { name: 'the link, to be copied' }).waitFor();
  assert.equal(await selected(), page.url());
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'copy link', 'back where it was pressed');
  assert.deepEqual(page.wrong, []);
  await page.close();
});

test('a served page gives a link without its token, and is saved as a file that needs no server', async () => {
  const server = await stage({ token: 'secret' });
  const document = attempt();
  server.run('last', document);
  server.run('7f3a91c2', document);
  server.picture(PICTURE);
  const page = await browser.page();
  await page.goto(server.url('?token=secret#/runs/last'));
  await page.waitForSelector('.verdict');
  assert.deepEqual(await names(page), ['copy command', 'copy link', 'save image', 'save data', 'save page', 'print']);
  await press(page, 'copy link');
  await said(page, 'copied the link; the token is not in it');
  assert.equal(await clipboard(page), server.url('#/runs/7f3a91c2'), 'the run is meant, not the last one');
  assert.deepEqual(await saved(page, 'save image'), { name: 'run-7f3a91c2.svg', text: PICTURE });
  const whole = await saved(page, 'save page');
  assert.equal(whole.name, 'run-7f3a91c2.html');
  assert.doesNotMatch(whole.text, /secret/);

  await server.stop();
  await press(page, 'save image');
  await said(page, 'does not answer');
  const without = await saved(page, 'save page');
  assert.doesNotMatch(without.text, /<title>a </);

  const copy = await browser.page();
  await browser.context.setOffline(true);
  await copy.goto(browser.file(whole.text));
  await copy.waitForSelector('.verdict');
  assert.match(await copy.locator('.verdict').innerText(), /1 better, 1 worse/);
  await copy.locator('#chart-rate').scrollIntoViewIfNeeded();
  await copy.locator('#chart-rate canvas').waitFor();
  assert.equal((await saved(copy, 'save image')).text, PICTURE);
  assert.deepEqual(copy.wrong, []);
  await browser.context.setOffline(false);
  await copy.close();
  await page.close();
});

test('a comparison is saved too', async () => {
  const server = await stage();
  const both = find();
  both.front.head = { ...both.front.head, command: 'compare', target: '2 runs', id: 'a,b', again: null };
  server.compare(both);
  const page = await browser.page();
  await page.goto(server.url('#/compare/a,b'));
  await page.waitForSelector('.verdict');
  assert.deepEqual(await names(page), ['copy link', 'save data', 'save page', 'print']);
  await press(page, 'copy link');
  await said(page, 'copied the link');
  assert.equal(await clipboard(page), server.url('#/compare/a,b'));
  assert.equal((await saved(page, 'save page')).name, 'run-a_b.html');
  await page.close();
  await server.stop();
});
