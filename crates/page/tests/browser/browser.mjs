// A browser of its own for a test file, and what the tests ask of a page again and again.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const UI = new URL('../../ui/', import.meta.url);
const require = createRequire(new URL('package.json', UI));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const PAGE = fileURLToPath(new URL('dist/index.html', UI));
const PLACES = { document: 'id="document">null</script>', picture: 'id="picture">null</script>' };

const SCREENSHOTS = process.env.SCREENSHOTS ?? fileURLToPath(new URL('../../../../target/screenshots/', import.meta.url));
mkdirSync(SCREENSHOTS, { recursive: true });

/** The page as `torment report` writes it. */
export function frozen(document, picture = null) {
  const json = typeof document === 'string' ? document : JSON.stringify(document);
  return put(put(page(), PLACES.document, json), PLACES.picture, JSON.stringify(picture));
}

function put(page, place, json) {
  if (!page.includes(place)) throw new Error(`the page has no ${place}`);
  return page.replace(place, () => place.replace('null', () => json.replaceAll('<', '\\u003c')));
}

/** The page as the server has it. */
export function page() {
  return readFileSync(PAGE, 'utf8');
}

/** `touch`: of a screen that is touched. */
export async function open({ touch = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'torment-page-'));
  const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    hasTouch: touch,
    viewport: { width: 1280, height: 900 },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  context.setDefaultTimeout(10_000);
  let files = 0;
  return {
    context,
    /** A fresh page with nothing on it; what goes wrong in it is collected. */
    async page() {
      const page = await context.newPage();
      page.wrong = [];
      page.asked = [];
      page.on('pageerror', (error) => page.wrong.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && page.wrong.push(message.text()));
      page.on('request', (request) => page.asked.push(request.url()));
      return page;
    },
    /** The address of a report that holds the document. */
    file(document, picture) {
      const path = join(folder, `report-${files++}.html`);
      writeFileSync(path, typeof document === 'string' && document.startsWith('<') ? document : frozen(document, picture));
      return pathToFileURL(path).href;
    },
    async close() {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function shot(page, name, options = {}) {
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), ...options });
}

/** What axe finds by its usual rules, and by that of WCAG 2.2 for how large must be what is pressed; one line each. */
export async function findings(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(`${AXE}; undefined`);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }),
  );
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}

/** How much wider than the window the page is, and what sticks out. Charts are drawn anew a moment after the window has changed: that is waited for. */
export async function overflow(page) {
  return page.evaluate(async () => {
    const look = () => {
      const width = document.documentElement.clientWidth;
      const out = [...document.querySelectorAll('main *, .bar *')].filter((element) => {
        if (element.closest('.scroll, .plot, .unseen')) return false;
        return element.getBoundingClientRect().right > width + 1;
      });
      const names = out.map((element) => `${element.tagName}.${element.getAttribute('class')}: ${element.textContent.slice(0, 40)}`);
      return { more: document.documentElement.scrollWidth - width, names };
    };
    const until = performance.now() + 5000;
    let seen = look();
    while ((seen.more > 0 || seen.names.length > 0) && performance.now() < until) {
      await new Promise((next) => setTimeout(next, 50));
      seen = look();
    }
    return seen;
  });
}

/** Text as people read it: a space is a space. */
export function plain(text) {
  return (text ?? '').replace(/[\u00a0\s]+/g, ' ').trim();
}

/** Scrolls through the whole page, so that everything that is drawn when seen has been drawn. */
export async function lookThrough(page) {
  await page.evaluate(async () => {
    for (let y = 0; y < document.documentElement.scrollHeight; y += 500) {
      window.scrollTo(0, y);
      await new Promise((next) => setTimeout(next, 60));
    }
    window.scrollTo(0, 0);
    await new Promise((next) => setTimeout(next, 60));
  });
}
