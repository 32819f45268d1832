import { expect, test } from 'vitest';
import { markup } from '../samples/documents.mjs';
import { readDocument } from '../src/read';
import { fileName, withHeld } from '../src/save';

const PAGE = '<script type="application/json" id="document">null</script><script type="application/json" id="picture">null</script>';

/** What a browser finds in the two elements. */
function inside(page: string): unknown[] {
  return [...page.matchAll(/id="\w+">(.*?)<\/script/gs)].map(([, text]) => JSON.parse(text!));
}

test('what is put into a page stays there, whatever it is called', () => {
  const { document } = readDocument(markup())!;
  const picture = '<svg><title>$& $1 </script></title></svg>';
  const page = withHeld(PAGE, document, picture);
  expect(page.match(/<script/g)).toHaveLength(2);
  expect(inside(page)).toEqual([document, picture]);
  expect(inside(withHeld(PAGE, document, null))).toEqual([document, null]);
});

test.each([
  ['20261120-161502-k3f', 'run-20261120-161502-k3f.svg'],
  ['../a b', 'run-___a_b.svg'],
  ['a,b', 'run-a_b.svg'],
])('a file about %s is called %s', (id, name) => expect(fileName(id, 'svg')).toBe(name));
