import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { App, Frozen } from './app';
import { watchPrint } from './print';
import { readDocument } from './read';
import { held, keepPage } from './save';
import { apply } from './theme';

keepPage();
apply();
watchPrint();

const page = document.getElementById('page');
if (page) {
  const embedded = frozen();
  if (embedded === null) {
    render(<App />, page);
  } else {
    const read = readDocument(embedded);
    render(read ? <Frozen read={read} /> : <Unreadable />, page);
  }
}

/** The embedded data; null if the page is to ask its server. */
function frozen(): unknown {
  const text = held('document');
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return 'no JSON';
  }
}

function Unreadable() {
  return (
    <main>
      <h1>This report cannot be read</h1>
      <p>
        It holds no torment document: the file was cut off or changed. Write it again with <code>torment report RUN -o FILE</code>.
      </p>
    </main>
  );
}
