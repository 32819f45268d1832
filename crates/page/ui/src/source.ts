/** The server that the page came from: requests, and what can go wrong. */

/** Why there is no answer: each calls for a different remedy. */
export type Why = 'token' | 'unknown' | 'gone' | 'refused';

export class Trouble extends Error {
  constructor(
    readonly why: Why,
    message: string,
  ) {
    super(message);
  }

  /** For anything thrown. */
  static of(error: unknown): Trouble {
    return error instanceof Trouble ? error : new Trouble('refused', String(error));
  }
}

const token = new URLSearchParams(window.location.search).get('token');

/** The URL for a request, with the token that the page was opened with. */
export function address(path: string): string {
  const url = new URL(path, window.location.origin);
  if (token !== null) url.searchParams.set('token', token);
  return url.href;
}

/** Fetches JSON. */
export async function ask(path: string): Promise<unknown> {
  const answer = await answered(path, 'application/json');
  try {
    return await answer.json();
  } catch {
    throw new Trouble('refused', 'The server answered something that is not JSON: is this page from another version of torment?');
  }
}

/** Fetches text. */
export async function text(path: string): Promise<string> {
  const answer = await answered(path, '*/*');
  try {
    return await answer.text();
  } catch {
    throw new Trouble('gone', 'The server ended while it answered.');
  }
}

/** A successful response. */
async function answered(path: string, accept: string): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(address(path), { headers: { accept }, cache: 'no-store' });
  } catch {
    throw new Trouble('gone', 'The server that this page came from does not answer: it ended, or it cannot be reached.');
  }
  if (answer.status === 401) throw new Trouble('token', wrongToken());
  if (answer.status === 403) throw new Trouble('token', (await said(answer)) || wrongToken());
  if (answer.status === 404) throw new Trouble('unknown', (await said(answer)) || 'The server does not know it.');
  if (!answer.ok) {
    throw new Trouble('refused', `The server answered ${answer.status}: ${(await said(answer)) || answer.statusText}`);
  }
  return answer;
}

function wrongToken(): string {
  const found = token === null ? 'has no token' : 'has a token that the server does not accept';
  return `The address of this page ${found}. Open the address that torment printed when it started, including everything after "?token=".`;
}

/** The error message of an unsuccessful response. */
async function said(answer: Response): Promise<string> {
  try {
    const text = (await answer.text()).trim();
    if (text.startsWith('{')) {
      const { error, message } = JSON.parse(text) as { error?: unknown; message?: unknown };
      return [error, message].find((one) => typeof one === 'string')?.toString() ?? '';
    }
    return text.startsWith('<') ? '' : text.slice(0, 300);
  } catch {
    return '';
  }
}
