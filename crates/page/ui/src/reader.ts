/**
 * Readers of any JSON. Nothing is trusted: each reader returns something for any value, so that a document of a newer torment, or
 * one that lost a part, still shows whatever can be read.
 */

export type Read<T> = (value: unknown) => T;

/** The type that a reader reads. */
export type Of<R> = R extends Read<infer T> ? T : never;

export type Loose = Record<string, unknown>;

export function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an object; none if it is not one. */
export function loose(value: unknown): Loose {
  return isObject(value) ? value : {};
}

/** An object of these fields, whatever is missing or extra. */
export function object<S extends Record<string, Read<unknown>>>(shape: S): Read<{ [K in keyof S]: Of<S[K]> }> {
  const fields = Object.entries(shape);
  return (value) => {
    const from = loose(value);
    const filled: Loose = {};
    for (const [name, read] of fields) filled[name] = read(from[name]);
    return filled as { [K in keyof S]: Of<S[K]> };
  };
}

/** A list of the items worth keeping; empty if it is not a list. */
export function list<T>(read: Read<T>, keeps: (one: T) => boolean = () => true): Read<T[]> {
  return (value) => (Array.isArray(value) ? value.map((one) => read(one)).filter(keeps) : []);
}

/** Null unless it is an object. */
export function orNull<T>(read: Read<T>): Read<T | null> {
  return (value) => (isObject(value) ? read(value) : null);
}

export const string: Read<string> = (value) =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

export const stringOrNull: Read<string | null> = (value) => (typeof value === 'string' ? value : null);

export const numberOrNull: Read<number | null> = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

export function number(otherwise: number): Read<number> {
  return (value) => numberOrNull(value) ?? otherwise;
}

export const flag: Read<boolean> = (value) => value === true;

export function oneOf<T extends string, U extends string = T>(known: readonly T[], otherwise: U): Read<T | U> {
  return (value) => (known.includes(value as T) ? (value as T) : otherwise);
}
