// A small screen: what is read on it is neither crossed out nor torn apart.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { attempt } from '../../ui/samples/documents.mjs';
import { open, shot } from './browser.mjs';

let browser;
before(async () => (browser = await open()));
after(() => browser.close());

/** The page of a try on a phone. */
async function opened() {
  const page = await browser.page();
  await page.setViewportSize({ width: 390, height: 844 });
  const document = attempt();
  document.front.verdict.push([{ text: 'next: ', tone: 'faint' }, { text: 'the load from another machine, the same services and the same plan again: --no-watch-of-that-long-name', tone: 'plain' }]);
  await page.goto(browser.file(document));
  await page.locator('.intervals svg').first().waitFor();
  return page;
}

/** The dashed line at the baseline ran through the names of all rows. */
test('no line runs through a name', async () => {
  const page = await opened();
  const crossed = await page.evaluate(() => {
    const boxes = (what) => [...document.querySelectorAll(what)].map((element) => [element.textContent, element.getBoundingClientRect()]);
    const lines = boxes('.intervals line[stroke-dasharray]');
    const names = boxes('.intervals text.label, .intervals text.value').filter(([text]) => text.trim() !== '');
    const met = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top + 2 < a.bottom;
    return { lines: lines.length, names: names.length, crossed: names.filter(([, name]) => lines.some(([, line]) => met(line, name))).map(([text]) => text) };
  });
  assert.ok(crossed.lines > 0 && crossed.names > 3, JSON.stringify(crossed));
  assert.deepEqual(crossed.crossed, []);
  await shot(page, 'try-390');
  await page.close();
});

test('an option stands in one line', async () => {
  const page = await opened();
  const option = page.locator('.verdict .option');
  assert.equal(await option.textContent(), '--no-watch-of-that-long-name');
  assert.equal(await option.evaluate((element) => element.getClientRects().length), 1);
  await page.close();
});
