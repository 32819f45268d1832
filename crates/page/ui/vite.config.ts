import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

/** What is built in, whose licences ask to be passed on with it. */
const BUILT_IN = ['preact', 'uplot'];

function licences(): string {
  const text = BUILT_IN.map((name) => {
    const licence = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), 'utf8');
    return `${name}\n\n${licence.trim()}`;
  });
  // Two dashes in a row may end a comment.
  return `<!--\nThis page holds:\n\n${text.join('\n\n').replace(/-{2,}/g, '-')}\n-->`;
}

/**
 * Puts the one script and the one style sheet into the page itself, so that it is a single file that opens from a disk as
 * well as from a server. A policy beside them allows exactly these two and no other code, and no place but the page's own
 * server: whatever a document holds, it cannot run.
 */
function oneFile(): Plugin {
  const allowed = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      let script = '';
      let style = '';
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === 'chunk') script += file.code;
        else if (name.endsWith('.css')) style += String(file.source);
        else continue;
        delete bundle[name];
      }
      // An end tag within the script would end it.
      script = script.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--').trim();
      style = style.trim();
      const page = bundle['index.html'];
      if (!page || page.type !== 'asset') throw new Error('the build wrote no index.html');
      const policy = [
        "default-src 'none'",
        `script-src ${allowed(script)}`,
        `style-src ${allowed(style)}`,
        "connect-src 'self'",
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
      ].join('; ');
      const html = String(page.source)
        .replace(/\s*<script type="module"[^>]*src=[^>]*><\/script>/g, '')
        .replace(/\s*<link rel="stylesheet"[^>]*>/g, '')
        .replace('<meta name="policy" />', () => `<meta http-equiv="Content-Security-Policy" content="${policy}" />`)
        .replace('</head>', () => `<style>${style}</style>\n</head>`)
        .replace('</body>', () => `<script type="module">${script}</script>\n</body>`)
        .replace('</html>', () => `${licences()}\n</html>`);
      for (const place of ['document', 'picture']) {
        if (!html.includes(`<script type="application/json" id="${place}">null</script>`)) {
          throw new Error(`the place of the ${place} is not in the page as the server looks for it`);
        }
      }
      page.source = html;
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [oneFile()],
  build: {
    target: 'es2022',
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 1 << 20,
    reportCompressedSize: false,
  },
});
