// Every kind of page, light and dark, wide and narrow: nothing on it is in anybody's way, as far as axe can tell.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { attempt, comparison, find, froze, probe } from '../../ui/samples/documents.mjs';
import { findings, lookThrough, open, overflow, shot } from './browser.mjs';
import { runs, stage } from './stage.mjs';

const golden = (name) => JSON.parse(readFileSync(new URL(`../../../view/tests/golden/page/${name}.json`, import.meta.url), 'utf8'));

/** By name: a document in a file, or what a server has at an address. */
const PAGES = {
  'a search': { document: golden('search') },
  'a search with its chain and doubts': { document: find() },
  'an experiment': { document: golden('experiment') },
  'an experiment in a picture': { document: attempt() },
  'a load': { document: golden('load') },
  'a load with freezes': { document: froze() },
  'a probe': { document: probe() },
  'a comparison': { address: '#/compare/7f3a91c2,5c02e7d1' },
  'a run of a server': { address: '#/runs/7f3a91c2' },
  'a run that is not there': { address: '#/runs/none' },
  'a comparison with a run that is not there': { address: '#/compare/7f3a91c2,none' },
  'the list': { address: '#/' },
};

/** What is opened by a press, and then looked at too. */
async function unfold(page) {
  const limit = page.getByRole('button', { name: /, over time$/ }).first();
  if (await limit.isVisible()) {
    await limit.click();
    await page.locator('#chart-limit canvas').waitFor();
  }
  const ticks = page.locator('table.runs').getByRole('checkbox');
  for (let i = 0; i < Math.min(2, await ticks.count()); i++) await ticks.nth(i).check();
  const table = page.getByRole('button', { name: /^table of figures/ }).first();
  if (await table.isVisible()) await table.click();
}

let browser;
let server;
before(async () => {
  browser = await open();
  server = await stage();
  server.history(runs());
  server.compare(comparison());
  server.run('7f3a91c2', find());
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const [name, { document, address }] of Object.entries(PAGES)) {
  test(`nothing of ${name} is in anybody's way`, async () => {
    for (const [width, height] of [[1280, 800], [390, 844]]) {
      const page = await browser.page();
      await page.setViewportSize({ width, height });
      await page.goto(address === undefined ? browser.file(document) : server.url(address));
      await page.locator('.verdict, table.runs, .trouble').first().waitFor();
      await unfold(page);
      for (const colorScheme of ['light', 'dark']) {
        const seen = `${width} × ${height}, ${colorScheme}`;
        await page.emulateMedia({ colorScheme });
        await lookThrough(page);
        assert.equal(await page.evaluate(() => window.document.documentElement.dataset.scheme), colorScheme);
        const found = await findings(page);
        // A picture of a whole page takes as long as all of this.
        if (found.length > 0) await shot(page, `axe-${name.replaceAll(' ', '-')}-${width}-${colorScheme}`, { fullPage: true });
        assert.deepEqual(found, [], seen);
      }
      assert.deepEqual(await overflow(page), { more: 0, names: [] });
      await page.close();
    }
  });
}
