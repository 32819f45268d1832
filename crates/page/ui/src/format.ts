/**
 * Figures for people, in the same format as torment's terminal output: `1,234/s`, `1.73 ms`, `3.4 MiB`, `12 %`. The space between
 * a figure and its unit is non-breaking.
 */

import type { Unit } from './document';

const SPACE = '\u00a0';
const MINUS = '\u2212';

const FORMATS: Record<Unit, (value: number) => string> = {
  time: clock,
  seconds: duration,
  per_second: (value) => `${digits(value)}/s`,
  count: digits,
  processors: digits,
  bytes,
  bytes_per_second: speed,
  share: (value) => percent(value * 100),
  ratio: (value) => `×${digits(value)}`,
  percentile,
  date: (value) => moment(value * 1000),
};

/** A value in its unit, fractions with three significant digits. */
export function format(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return value < 0 ? MINUS + format(-value, unit) : FORMATS[unit](value);
}

/** The same for an axis tick, where there is less room: 250,000/s is `250k/s`, and a date is the day or the time. */
export function formatTick(value: number, unit: Unit): string {
  if (value === 0 && unit !== 'percentile' && unit !== 'time') return '0';
  if (unit === 'date') {
    const [day, time] = format(value, unit).split(' ');
    return (time === '00:00' ? day : time) ?? '';
  }
  const short = unit === 'per_second' || unit === 'count';
  if (short && Math.abs(value) >= 99_999.5) return format(0, unit).replace('0', compact(value));
  return format(value, unit);
}

/** The parts that are there and not empty, with this between them. */
export function joined(between: string, ...parts: (string | null | undefined)[]): string {
  return parts.filter((part) => part).join(between);
}

/** Text in which no line breaks between a figure and its unit. */
export function tied(words: string): string {
  return words.replace(/(\d) (?=(?:%|[mµn]?s|min|[KMGT]iB)(?!\w))/g, `$1${SPACE}`);
}

/** 1234567 → `1,234,567`; below 100 up to three significant digits. */
export function digits(value: number): string {
  if (value >= 99.95) return grouped(Math.round(value));
  if (value > 0 && value < 1) return trimmed(value.toPrecision(2));
  return trimmed(value.toFixed(value >= 9.995 ? 1 : 2));
}

/** Digits in groups of three. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

function compact(value: number): string {
  const [factor, letter] = Math.abs(value) >= 999_999.5 ? [1e6, 'M'] : [1e3, 'k'];
  return trimmed((value / factor).toPrecision(4)) + letter;
}

/** A duration in seconds. */
export function duration(seconds: number): string {
  if (seconds === 0) return `0${SPACE}s`;
  if (seconds < 999.5e-9) return `${trimmed((seconds * 1e9).toPrecision(3))}${SPACE}ns`;
  if (seconds < 999.5e-6) return `${three(seconds * 1e6)}${SPACE}µs`;
  if (seconds < 999.5e-3) return `${three(seconds * 1e3)}${SPACE}ms`;
  if (seconds < 120) return `${three(seconds)}${SPACE}s`;
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (h === 0) return s === 0 ? `${m}${SPACE}min` : `${m}${SPACE}min${SPACE}${s}${SPACE}s`;
  return m === 0 ? `${h}${SPACE}h` : `${h}${SPACE}h${SPACE}${m}${SPACE}min`;
}

const two = (n: number) => String(n).padStart(2, '0');

/** A time of the run: `7.5 s`, `1:05`, `1:02:05`. */
export function clock(seconds: number): string {
  if (seconds < 60) return `${trimmed(seconds.toFixed(seconds < 10 ? 2 : 1))}${SPACE}s`;
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h === 0 ? `${m}:${two(s)}` : `${h}:${two(m)}:${two(s)}`;
}

function bytes(value: number): string {
  const units = ['TiB', 'GiB', 'MiB', 'KiB'];
  for (let i = 0; i < units.length; i++) {
    const size = 2 ** (10 * (units.length - i));
    if (value >= size * 0.99995) return `${grouped1(value / size)}${SPACE}${units[i]}`;
  }
  return `${trimmed(value.toFixed(value < 10 ? 1 : 0))}${SPACE}B`;
}

/** In powers of ten, as for links and memory. */
function speed(value: number): string {
  const [factor, unit] = value >= 999.5e6 ? [1e9, 'GB/s'] : value >= 999.5e3 ? [1e6, 'MB/s'] : [1e3, 'kB/s'];
  return `${digits(value / factor)}${SPACE}${unit}`;
}

function grouped1(value: number): string {
  return value >= 999.95 ? grouped(Math.round(value)) : trimmed(value.toFixed(1));
}

function percent(value: number): string {
  const places = value === 0 ? 0 : value < 0.001 ? 5 : value < 0.1 ? 4 : value < 1 ? 3 : value < 10 ? 2 : 1;
  return `${trimmed(value.toFixed(places))}${SPACE}%`;
}

/** 1 ÷ (1 − quantile) as a percentile: 100 → `99 %`, 1000 → `99.9 %`. */
export function percentile(value: number): string {
  if (value <= 1) return `0${SPACE}%`;
  const nines = Math.max(0, Math.ceil(Math.log10(value) - 2 + 1e-9));
  const places = Math.min(12, value < 100 ? 1 : nines + 1);
  // Rounded down: 99.96 % is not 100 %.
  const scale = 10 ** places;
  const shown = Math.floor((100 - 100 / value) * scale + 1e-4) / scale;
  return `${trimmed(shown.toFixed(places))}${SPACE}%`;
}

function three(value: number): string {
  return trimmed(value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2));
}

/** Without trailing zeros. */
function trimmed(text: string): string {
  const number = text.includes('e') ? String(Number(text)) : text;
  if (!number.includes('.') || number.includes('e')) return number;
  return number.replace(/\.?0+$/, '');
}

/** The local date and time: `2026-03-01 14:05`. */
export function moment(unixMs: number, seconds = false): string {
  if (!unixMs) return '–';
  const date = new Date(unixMs);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return `${day} ${time}${seconds ? `:${two(date.getSeconds())}` : ''}`;
}

/** A run's duration, to the second. */
export function lasted(fromMs: number, toMs: number | null): string {
  if (toMs === null || toMs < fromMs) return '–';
  const seconds = (toMs - fromMs) / 1000;
  return duration(seconds >= 10 ? Math.round(seconds) : seconds);
}
