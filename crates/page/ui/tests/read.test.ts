import { describe, expect, test } from 'vitest';
import { attempt, empty, find, newer, sheet } from '../samples/documents.mjs';
import { readHistory, readTimeline } from '../src/document';
import { readDocument } from '../src/read';

describe('a document', () => {
  test.each([['a search', find], ['an experiment', attempt], ['figures of a machine', sheet]])('is read as it is: %s', (_, sample) => {
    const read = readDocument(sample());
    expect(read?.notes).toEqual([]);
    expect(read?.document).toEqual(sample());
  });

  test('of a newer torment shows what can be read, and says so', () => {
    const read = readDocument(newer())!;
    expect(read.notes.join()).toContain('format 2, written by torment 9.0.0');
    const [first, second] = read.document.front.sections;
    expect(first!.charts[0]!.form).toBe('lines');
    expect(first!.charts[0]!.y.unit).toBe('count');
    expect(first!.charts[0]!.series[0]!.role).toEqual({ nth: 0 });
    expect(first!.texts[0]![0]!.tone).toBe('plain');
    expect(second!.tables).toEqual([]);
  });

  test('of an earlier torment has stations without figures', () => {
    const chain = [{ name: '10 permits', facts: [], tone: 'bad', degraded: { in_use: '10 of 10' } }];
    expect(readDocument({ front: { chain } })!.document.front.chain).toEqual([
      {
        name: '10 permits',
        facts: [],
        well: null,
        degraded: { in_use: '10 of 10', share: null, stay: null, waiting: null },
        section: null,
        tone: 'bad',
      },
    ]);
  });

  test('of a run that has just begun is empty', () => {
    expect(readDocument(empty())?.document.timeline.at).toEqual([]);
  });

  test.each([null, 7, 'text', [], {}, { front: 3 }])('is not %j', (value) => expect(readDocument(value)).toBeNull());
});

test('columns are as long as the times, whatever was sent', () => {
  const read = readTimeline({ at: [1, 2, 3], columns: [{ id: 'a', values: [1] }, { id: 'b', values: [1, 'x', null, 9] }] });
  expect(read.columns.map((column) => column.values)).toEqual([
    [1, null, null],
    [1, null, null],
  ]);
});

test('a run of the history that lacks parts', () => {
  expect(readHistory({ runs: [{ id: 'a', tags: ['x', ''], state: 'odd' }, { name: 'without an id' }] })).toEqual([
    {
      id: 'a',
      name: '',
      tags: ['x'],
      commit: '',
      command: '',
      target: '',
      machine: '',
      plan: '',
      verdict: '',
      verdict_tone: 'plain',
      state: 'ended',
      started_unix_ms: 0,
      ended_unix_ms: null,
      limit: null,
      alike: null,
      before: null,
    },
  ]);
});

test('runs that are alike have one plan', () => {
  const read = readHistory({ runs: [{ id: 'a', alike: 7 }, { id: 'b', alike: 7 }, { id: 'c' }], plans: { 7: 'rate = 1', 8: 'rate = 2' } });
  expect(read.map((run) => run.plan)).toEqual(['rate = 1', 'rate = 1', '']);
});

test('what a run of the history knows of its limit', () => {
  const limit = { held: 10, lower: 'much', upper: 11, unit: 'requests/s' };
  const before = { id: 'b', text: '−8 %, sure', tone: 'loud' };
  const [run] = readHistory({ runs: [{ id: 'a', commit: '0123456789ab', alike: 3, limit, before }] });
  expect(run).toMatchObject({ commit: '0123456789ab', alike: 3, limit: { ...limit, lower: null }, before: { ...before, tone: 'plain' } });
});
