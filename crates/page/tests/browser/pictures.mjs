// The photographs of the page that the manual shows: `pictures.mjs TORMENT STORE FOLDER`, with a store that holds the recorded runs.
// `make pictures` calls it. Whatever the machine, times are those of UTC, and colours light.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { open } from './browser.mjs';

const [torment, store, folder] = process.argv.slice(2);
/** As wide as most screens are at least, and as high as there is something new to see. */
const WIDTH = 1280;
const REPORT = 784;
const LIST = 592;

process.env.TZ = 'UTC';
const browser = await open();
const serving = spawn(torment, ['serve', '--listen', '127.0.0.1:0', '--store', store], { stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const address = await new Promise((found, failed) => {
    let said = '';
    serving.on('close', () => failed(new Error(`${torment} serve ended without a page: ${said}`)));
    serving.stdout.on('data', (data) => {
      const url = /http:\/\/127\.0\.0\.1:\d+\/\S*(?=\s)/.exec((said += data));
      if (url) found(url[0]);
    });
  });
  const { runs } = await (await fetch(new URL('/api/history', address))).json();
  const named = (name) => {
    const run = runs.find((run) => run.name === name);
    if (!run) throw new Error(`${store} holds no run '${name}'`);
    return `#/runs/${run.id}`;
  };
  await photograph('report', new URL(named('permits'), address), REPORT, '.chain');
  await photograph('history', new URL('#/', address), LIST, 'table.runs tbody tr');
} finally {
  serving.removeAllListeners('close');
  serving.kill('SIGINT');
  await browser.close();
}

/** What is seen at first of a page, once this is there and its charts are drawn. */
async function photograph(name, url, height, there) {
  const page = await browser.page();
  await page.setViewportSize({ width: WIDTH, height });
  await page.goto(url.href);
  await page.locator(there).first().waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.plot')].every((plot) => plot.getBoundingClientRect().top > window.innerHeight || plot.querySelector('canvas')),
  );
  if (page.wrong.length > 0) throw new Error(`${url}: ${page.wrong.join('; ')}`);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  console.log(`wrote ${path}`);
  await page.close();
}
