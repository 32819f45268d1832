import { describe, expect, test } from 'vitest';
import type { Unit } from '../src/document';
import { format, formatTick, lasted, tied } from '../src/format';

/** The spaces of figures do not break; that is not what these cases are about. */
const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const check = (value: number | null, unit: Unit, expected: string) => expect(plain(format(value, unit))).toBe(expected);

test('a tick of dates is the day at midnight, and otherwise the time', () => {
  const seconds = (hour: number) => new Date(2026, 10, 20, hour, 30 * (hour % 2)).getTime() / 1000;
  expect(format(seconds(0), 'date')).toBe('2026-11-20 00:00');
  expect(formatTick(seconds(0), 'date')).toBe('2026-11-20');
  expect(formatTick(seconds(15), 'date')).toBe('15:30');
});

describe('a figure in its unit', () => {
  test.each([
    [0, '0/s'],
    [0.5, '0.5/s'],
    [9.994, '9.99/s'],
    [49.5, '49.5/s'],
    [99.96, '100/s'],
    [1983.4, '1,983/s'],
    [1234567, '1,234,567/s'],
  ] as const)('rate %d', (value, expected) => check(value, 'per_second', expected));

  test.each([
    [0, '0 s'],
    [3e-9, '3 ns'],
    [550e-6, '550 µs'],
    [0.00173, '1.73 ms'],
    [0.0012, '1.2 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1 s'],
    [12.34, '12.3 s'],
    [119, '119 s'],
    [125, '2 min 5 s'],
    [7200, '2 h'],
    [7260, '2 h 1 min'],
  ] as const)('length of time %d', (value, expected) => check(value, 'seconds', expected));

  test.each([
    [0, '0 B'],
    [512, '512 B'],
    [1024, '1 KiB'],
    [3.4 * 1024 * 1024, '3.4 MiB'],
    [5 * 2 ** 30, '5 GiB'],
  ] as const)('bytes %d', (value, expected) => check(value, 'bytes', expected));

  test.each([
    [0, '0 %'],
    [0.12, '12 %'],
    [0.000051, '0.0051 %'],
    [0.0456, '4.56 %'],
    [1, '100 %'],
  ] as const)('share %d', (value, expected) => check(value, 'share', expected));

  test.each([
    [1, '0 %'],
    [2, '50 %'],
    [4, '75 %'],
    [10, '90 %'],
    [100, '99 %'],
    [1000, '99.9 %'],
    [10_000, '99.99 %'],
    [100_000, '99.999 %'],
    [2500, '99.96 %'],
  ] as const)('percentile %d', (value, expected) => check(value, 'percentile', expected));

  test.each([
    [7.5, '7.5 s'],
    [12, '12 s'],
    [65, '1:05'],
    [3725, '1:02:05'],
  ] as const)('moment %d', (value, expected) => check(value, 'time', expected));

  test('the rest', () => {
    check(1.4, 'ratio', '×1.4');
    check(1.98, 'processors', '1.98');
    check(59490, 'count', '59,490');
    check(-0.002, 'seconds', '−2 ms');
    check(5.13e9, 'bytes_per_second', '5.13 GB/s');
    check(37e6, 'bytes_per_second', '37 MB/s');
    check(0, 'bytes_per_second', '0 kB/s');
  });

  test('what was not measured is no zero', () => {
    check(null, 'count', '–');
    check(Number.NaN, 'count', '–');
  });
});

test('a large tick is short', () => {
  expect(formatTick(250_000, 'per_second')).toBe('250k/s');
  expect(formatTick(2_500_000, 'count')).toBe('2.5M');
  expect(formatTick(99_000, 'count')).toBe('99,000');
  expect(formatTick(0, 'per_second')).toBe('0');
});

test('how long a run lasted', () => {
  expect(plain(lasted(0, 185_400))).toBe('3 min 5 s');
  expect(lasted(0, null)).toBe('–');
});

test('a figure stays beside its unit', () => {
  expect(tied('lost 51.2 %, 3 ms late of 10 s')).toBe('lost 51.2\u00a0%, 3\u00a0ms late of 10\u00a0s');
  expect(tied('half as fast from 64 MiB')).toBe('half as fast from 64\u00a0MiB');
  expect(tied('4,000 threads, 3 storms, holds 991 requests/s')).toBe('4,000 threads, 3 storms, holds 991 requests/s');
});
