/** What a reader can take from a run's page: its command, its address, and files. Nothing here changes a run. */

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Group } from './chart/group';
import { copied } from './clipboard';
import type { Document } from './document';
import { linkOf } from './route';
import { fileName, frozen, heldPicture, save } from './save';
import { text, Trouble } from './source';

/** How long a confirmation is shown, in milliseconds. */
const SAID = 8000;

interface Said {
  text: string;
  /** Repeating the same text is news too. */
  nth: number;
}

/** Text to be copied by hand. */
interface Left {
  what: string;
  text: string;
}

export function Actions({ doc, group, linked }: { doc: Document; group: Group; linked: boolean }): JSX.Element {
  const { head, pictures } = doc.front;
  const [said, setSaid] = useState<Said>({ text: '', nth: 0 });
  const [left, setLeft] = useState<Left | null>(null);
  const pressed = useRef<HTMLElement | null>(null);
  const say = (text: string) => setSaid(({ nth }) => ({ text, nth: nth + 1 }));
  useEffect(() => {
    if (said.text === '') return;
    const timer = window.setTimeout(() => setSaid({ text: '', nth: said.nth }), SAID);
    return () => window.clearTimeout(timer);
  }, [said]);

  const copy = async (what: string, text: string, more = '') => {
    pressed.current = window.document.activeElement as HTMLElement | null;
    if (await copied(text)) {
      setLeft(null);
      say(`copied the ${what}${more}`);
    } else {
      setLeft({ what, text });
      say(`the browser denies access to the clipboard: the ${what} is selected, copy it with Ctrl+C or ⌘C`);
    }
  };
  const copyLink = () => {
    const { link, bare } = linkOf(window.location.href, head.id, group.range);
    const part = group.range === null ? '' : ', with the part shown';
    void copy('link', link, `${part}${bare ? '; the token is not in it' : ''}`);
  };

  const file = (ending: string) => fileName(head.id, ending);
  const put = (ending: string, type: string, text: string) => {
    save(file(ending), type, text);
    say(`saved ${file(ending)}`);
  };
  const held = pictures.length > 0;
  const inside = useMemo(() => (linked ? null : heldPicture()), [linked]);
  const picture = () => (linked ? text(`/api/runs/${encodeURIComponent(head.id)}/picture.svg`) : Promise.resolve(inside ?? ''));
  const savePicture = () =>
    picture().then(
      (svg) => put('svg', 'image/svg+xml', svg),
      (error) => say(Trouble.of(error).message),
    );
  const savePage = async () => {
    // A page without a picture is better than none.
    const svg = held ? await picture().catch(() => null) : null;
    put('html', 'text/html', frozen(doc, svg));
  };
  const drawn = linked ? held : inside !== null;
  return (
    <>
      <div class="actions" role="group" aria-label="Copy, save, print">
        {head.again !== null && (
          <button type="button" class="quiet" title="shell command that repeats this run" onClick={() => copy('command', head.again ?? '')}>
            copy command
          </button>
        )}
        <button type="button" class="quiet" title="link to this view" onClick={copyLink}>
          copy link
        </button>
        {drawn && (
          <button type="button" class="quiet" title={file('svg')} onClick={savePicture}>
            save image
          </button>
        )}
        <button type="button" class="quiet" title={`everything on this page as JSON, ${file('json')}`} onClick={() => put('json', 'application/json', JSON.stringify(doc))}>
          save data
        </button>
        {linked && (
          <button type="button" class="quiet" title={`a file that needs no server, ${file('html')}`} onClick={savePage}>
            save page
          </button>
        )}
        <button type="button" class="quiet" onClick={() => window.print()}>
          print
        </button>
        <span class="said" role="status">
          {said.text !== '' && <span key={said.nth}>{said.text}</span>}
        </span>
      </div>
      {left && (
        <ByHand
          left={left}
          done={() => {
            setLeft(null);
            setSaid({ text: '', nth: said.nth });
            pressed.current?.focus();
          }}
        />
      )}
    </>
  );
}

/** Lines of a text visible at once. */
const LINES = 8;

/** A selected text, where the page cannot use the clipboard itself. */
function ByHand({ left, done }: { left: Left; done: () => void }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [left]);
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    // It would reset the charts' zoom.
    event.stopPropagation();
    done();
  };
  return (
    <div class="by-hand" onKeyDown={key}>
      <textarea ref={field} readOnly rows={Math.min(LINES, left.text.split('\n').length)} aria-label={`the ${left.what}, to be copied`} value={left.text} />
      <button type="button" onClick={done}>
        close
      </button>
    </div>
  );
}
