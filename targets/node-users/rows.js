// The clinic's rows in PostgreSQL, with statements prepared once for each connection.

import pg from 'pg';

const WAIT_LIMIT_MS = 30_000;

// Named, so that a connection prepares each only once.
const OWNER = {
  name: 'owner',
  text: 'SELECT first_name, last_name, address, city, telephone FROM owners WHERE id = $1',
};
const PETS = {
  name: 'pets',
  text: `SELECT p.id, p.name, p.birth_date::text AS birth_date, t.name AS kind, v.visit_date::text AS visit_date, v.description
    FROM pets p JOIN types t ON t.id = p.type_id LEFT JOIN visits v ON v.pet_id = p.id
    WHERE p.owner_id = $1 ORDER BY p.id, v.id`,
};
const INSERT = {
  name: 'insert',
  text: `INSERT INTO owners (first_name, last_name, address, city, telephone)
    VALUES ($1, $2, $3, $4, $5) RETURNING id`,
};
const COUNT = { name: 'count', text: 'SELECT count(*)::int AS owners FROM owners' };
const FORTUNES = { name: 'fortunes', text: 'SELECT id, message FROM fortunes' };

export class Rows {
  #pool;

  // Opens all connections, so that the first requests do not wait for them and a refusal is seen now.
  static async open(url, connections) {
    const rows = new Rows();
    rows.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: WAIT_LIMIT_MS,
      idleTimeoutMillis: 0,
      application_name: 'node-users',
    });
    // The server closed a connection that nobody used: the pool makes another when it needs one.
    rows.#pool.on('error', () => {});
    const clients = await Promise.all(Array.from({ length: connections }, () => rows.#pool.connect()));
    try {
      await clients[0].query('SELECT id FROM owners LIMIT 1');
    } finally {
      clients.forEach((client) => client.release());
    }
    return rows;
  }

  // One owner with pets and visits, by both statements on one connection; null if there is none.
  async owner(id) {
    const client = await this.#pool.connect();
    try {
      const [owner] = (await client.query({ ...OWNER, values: [id] })).rows;
      if (!owner) return null;
      owner.id = id;
      owner.pets = [];
      for (const row of (await client.query({ ...PETS, values: [id] })).rows) {
        if (owner.pets.at(-1)?.id !== row.id) owner.pets.push({ ...row, visits: [] });
        if (row.visit_date !== null) owner.pets.at(-1).visits.push(row);
      }
      return owner;
    } finally {
      client.release();
    }
  }

  // Commits one new row and gives its id.
  async insert(owner) {
    const values = [owner.first_name, owner.last_name, owner.address, owner.city, owner.telephone];
    return (await this.#pool.query({ ...INSERT, values })).rows[0].id;
  }

  async count() {
    return (await this.#pool.query(COUNT)).rows[0].owners;
  }

  async fortunes() {
    return (await this.#pool.query(FORTUNES)).rows;
  }
}

// Whether no connection came free in time, rather than the database saying no. pg has no code for it.
export const isCrowded = (error) => error.message === 'timeout exceeded when trying to connect';
