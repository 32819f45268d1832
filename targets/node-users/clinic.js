// The clinic's endpoints on Express.

import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { HOME, NO_OWNER, fortunesPage, ownerPage } from './pages.js';
import { isCrowded } from './rows.js';

const MOST_MS = 600_000;
const MOST_ID = 2 ** 31 - 1;
const FIELDS = ['first_name', 'last_name', 'address', 'city', 'telephone'];

export const clinic = (rows) => {
  const app = express();
  app.disable('x-powered-by');
  // /json/ is another page than /json, and there is none.
  app.enable('strict routing');

  // Express answers a HEAD by what stands for GET; any other method is refused by name.
  const page = (path, answer) => app.route(path).get(answer).all(refuse('GET, HEAD'));

  page('/', (_, response) => response.send(HOME));
  page('/healthz', (_, response) => response.type('text').send('ok\n'));
  page('/json', async (request, response) => {
    const ms = [request.query.ms ?? '0'].flat()[0];
    const time = ms.trim() === '' ? NaN : Number(ms);
    if (!(time >= 0 && time <= MOST_MS)) {
      return response.status(400).type('text').send(`ms is '${ms}'; it must be a number from 0 to ${MOST_MS}\n`);
    }
    if (time > 0) await sleep(time);
    response.json({ message: 'Hello, World!' });
  });
  page('/fortunes', async (_, response) => response.send(fortunesPage(await rows.fortunes())));
  page('/owners/count', async (_, response) => response.json({ owners: await rows.count() }));

  app
    .route('/owners/new')
    .post(express.urlencoded({ extended: false }), async (request, response) => {
      const owner = request.body ?? {};
      const mistakes = FIELDS.map((name) => mistake(name, owner[name])).join('');
      if (mistakes) return response.status(400).type('text').send(mistakes);
      const id = await rows.insert(owner);
      response.status(302).location(`/owners/${id}`).end();
    })
    .all(refuse('POST'));

  page('/owners/:id', async (request, response) => {
    const { id } = request.params;
    const owner = /^\d+$/.test(id) && Number(id) <= MOST_ID ? await rows.owner(Number(id)) : null;
    return owner ? response.send(ownerPage(owner)) : response.status(404).send(NO_OWNER);
  });

  app.use((_, response) => response.status(404).type('text').send('There is no such page.\n'));

  // Four parameters make it the handler of failures.
  app.use((error, _request, response, _next) => {
    const [status, words] = isCrowded(error)
      ? [503, 'no database connection came free in time']
      : error.status
        ? [error.status, error.message]
        : [500, `the database failed: ${error.message}`];
    response.status(status).type('text').send(`${words}\n`);
  });
  return app;
};

const refuse = (allowed) => (_, response) =>
  response.status(405).set('Allow', allowed).type('text').send(`This page takes ${allowed}.\n`);

// A line of reason for a bad field.
const mistake = (name, value) => {
  const reason = (() => {
    if (typeof value !== 'string' || value.trim() === '') return 'must not be blank';
    if ([...value].length > 255) return 'must not be longer than 255 characters';
    if (/\p{Cc}/u.test(value)) return 'must not hold control characters';
    if (name === 'telephone' && !/^[0-9]{1,10}$/.test(value)) return 'must be up to 10 digits';
    return null;
  })();
  return reason ? `${name}: ${reason}\n` : '';
};
