import { describe, expect, test } from 'vitest';
import { linkOf, rangeOf, routeOf, withRange } from '../src/route';

describe('the part of a run that an address shows', () => {
  test.each([
    ['#/runs/a?from=12.5&to=34', [12.5, 34]],
    ['#?from=0&to=0.25', [0, 0.25]],
    ['#/runs/a', null],
    ['', null],
    ['#/runs/a?from=34&to=12', null],
    ['#/runs/a?from=x&to=12', null],
    ['#/runs/a?to=12', null],
  ])('of %s', (hash, range) => expect(rangeOf(hash)).toEqual(range));

  test('is kept to the millisecond, and forgotten when all is shown', () => {
    expect(withRange('#/runs/a', [1 / 3, 20])).toBe('#/runs/a?from=0.333&to=20');
    expect(withRange('#/runs/a?from=1&to=2', [3, 4])).toBe('#/runs/a?from=3&to=4');
    expect(withRange('', [3, 4])).toBe('#?from=3&to=4');
    expect(withRange('#/runs/a?from=1&to=2', null)).toBe('#/runs/a');
    expect(withRange('#?from=1&to=2', null)).toBe('');
  });

  test('changes nothing in which page it is', () => {
    expect(routeOf('#/runs/other%20run?from=1&to=2')).toEqual({ page: 'run', id: 'other run' });
    expect(routeOf('#/compare/a,b?from=1&to=2')).toEqual({ page: 'compare', ids: ['a', 'b'] });
    expect(routeOf('#/')).toEqual({ page: 'history' });
  });
});

describe('a link to what is shown', () => {
  test.each([
    ['http://h:7979/#/runs/last', 'a', null, 'http://h:7979/#/runs/a'],
    ['http://h:7979/#/runs/last?from=1&to=2', 'a b', [3, 4.5], 'http://h:7979/#/runs/a%20b?from=3&to=4.5'],
    ['http://h:7979/#/compare/a,b', 'a,b', [1, 2], 'http://h:7979/#/compare/a,b?from=1&to=2'],
    ['file:///tmp/run.html', 'a', [1, 2], 'file:///tmp/run.html#?from=1&to=2'],
    ['file:///tmp/run.html#?from=1&to=2', 'a', null, 'file:///tmp/run.html'],
  ] as const)('from %s', (href, id, range, link) => {
    expect(linkOf(href, id, range as [number, number] | null)).toEqual({ link, bare: false });
  });

  test('keeps the token to itself', () => {
    expect(linkOf('http://h/?token=secret&x=1#/runs/a', 'a', null)).toEqual({ link: 'http://h/?x=1#/runs/a', bare: true });
  });
});
