// The charts under fingers.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { find } from '../../ui/samples/documents.mjs';
import { open, plain, shot } from './browser.mjs';

let browser;
before(async () => (browser = await open({ touch: true })));
after(() => browser.close());

/** A page with its first chart over time in sight, and where that is. */
async function opened() {
  const page = await browser.page();
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(browser.file(find()));
  const chart = page.locator('#chart-rate');
  await chart.scrollIntoViewIfNeeded();
  const over = chart.locator('.u-over');
  await over.waitFor();
  const box = await over.boundingBox();
  const cdp = await browser.context.newCDPSession(page);
  const touch = (type, ...places) =>
    cdp.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: places.map((share, id) => ({ x: box.x + box.width * share, y: box.y + box.height / 2, id })),
    });
  return { page, chart, touch };
}

test('a tap reads a moment, and one finger goes on from there', async () => {
  const { page, chart, touch } = await opened();
  const reading = async () => plain(await chart.locator('.reading').innerText());
  await touch('touchStart', 0.25);
  await touch('touchEnd');
  await page.waitForFunction(() => document.querySelector('#chart-rate .reading').textContent.trim() !== '');
  const first = await reading();
  await touch('touchStart', 0.3);
  for (const share of [0.4, 0.5, 0.6, 0.7]) await touch('touchMove', share);
  await touch('touchEnd');
  await page.waitForFunction((first) => document.querySelector('#chart-rate .reading').textContent.replace(/[\u00a0\s]+/g, ' ').trim() !== first, first);
  assert.notEqual(await reading(), first);
  assert.equal(await page.locator('.zoomed button').count(), 0, 'one finger zooms nothing');
  assert.deepEqual(page.wrong, []);
  await page.close();
});

test('two fingers zoom all charts over time, and closed again they show all', async () => {
  const { page, touch } = await opened();
  const zoomed = page.locator('.zoomed');
  await touch('touchStart', 0.4, 0.6);
  for (const more of [0.1, 0.2, 0.3]) await touch('touchMove', 0.4 - more, 0.6 + more);
  await touch('touchEnd');
  await zoomed.getByRole('button').waitFor();
  assert.match(plain(await zoomed.innerText()), /charts show .* – /);
  await shot(page, 'pinched-390');
  await touch('touchStart', 0.1, 0.9);
  for (const less of [0.1, 0.2, 0.3, 0.35]) await touch('touchMove', 0.1 + less, 0.9 - less);
  await touch('touchEnd');
  await zoomed.getByRole('button').waitFor({ state: 'detached' });
  assert.deepEqual(page.wrong, []);
  await page.close();
});
