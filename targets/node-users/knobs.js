// What an experiment changes: environment variables, checked.

const number = (name, standard, least, most) => {
  const text = process.env[name] || String(standard);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new Error(`${name} is '${text}'; it must be a whole number from ${least} to ${most}`);
  }
  return value;
};

const database = () => {
  const text = process.env.DATABASE_URL || '';
  // Not the text itself: there may be a password in it.
  const expected = 'DATABASE_URL must be postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE; ';
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw new Error(expected + (text ? 'it starts otherwise' : 'it is not set'));
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !url.username || !url.hostname || url.pathname.length < 2) {
    throw new Error(`${expected}the user, the host or the database is missing or malformed`);
  }
  return text;
};

export const read = () => ({
  port: number('PORT', 8080, 0, 65_535),
  workers: number('WORKERS', 1, 1, 1_024),
  pool: number('POOL', 10, 1, 10_000),
  backlog: number('BACKLOG', 511, 1, 1_000_000),
  database: database(),
});
