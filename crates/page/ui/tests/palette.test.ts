import { describe, expect, test } from 'vitest';
import { bandLook } from '../src/chart/marks';
import { ROLES, TONES, type Role } from '../src/document';
import { channels, look, palette, shade, toneColour, type Scheme } from '../src/palette';

const SCHEMES: Scheme[] = ['light', 'dark'];

/** How much two colours differ, from 1 to 21, as WCAG 2 reckons it. */
function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(colour: string): number {
  const [r, g, b] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

test('contrast is reckoned as WCAG 2 does', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

describe.each(SCHEMES)('in the %s scheme', (scheme) => {
  const colours = palette(scheme);

  test.each(['text', 'faint', 'link', 'good', 'bad', 'warn'] as const)('%s can be read on everything it stands on', (name) => {
    for (const ground of [colours.page, colours.ground, colours.doubt]) {
      expect(contrast(colours[name], ground)).toBeGreaterThanOrEqual(4.5);
    }
  });

  test.each(['good', 'bad', 'warn', 'faint'] as const)('the name of a band that is %s can be read on it', (tone) => {
    const [colour, share] = bandLook(tone, scheme);
    const channel = (one: string, at: number) => Number.parseInt(one.slice(at, at + 2), 16);
    const mixed = [1, 3, 5].map((at) => Math.round(channel(colour, at) * share + channel(colours.ground, at) * (1 - share)));
    const ground = `#${mixed.map((one) => one.toString(16).padStart(2, '0')).join('')}`;
    expect(contrast(colour, ground)).toBeGreaterThanOrEqual(4.5);
  });

  test('edges and the focus can be seen', () => {
    for (const colour of [colours.edge, colours.focus]) {
      for (const ground of [colours.page, colours.ground]) expect(contrast(colour, ground)).toBeGreaterThanOrEqual(3);
    }
  });

  test('every series stands out from its ground', () => {
    for (const colour of [...colours.series, colours.neutral]) {
      expect(contrast(colour, colours.ground), colour).toBeGreaterThanOrEqual(3);
    }
  });

  test('every tone that is drawn stands out', () => {
    for (const tone of TONES) expect(contrast(toneColour(tone, scheme), colours.ground)).toBeGreaterThanOrEqual(3);
  });

  test('series of a kind differ in more than colour', () => {
    const all: Role[] = Array.from({ length: 7 }, (_, nth) => ({ nth }));
    expect(new Set(all.map((role) => look(role, scheme).dash.join())).size).toBe(7);
    expect(new Set(all.map((role) => look(role, scheme).hatch)).size).toBe(7);
    expect(new Set(all.map((role) => look(role, scheme).colour)).size).toBe(7);
  });

  test.each([
    [['offered', 'achieved', 'bad']],
    [['waiting', 'busy', 'idle']],
    [['half', 'ninety', 'largest']],
    [['good', 'bad']],
  ] as [Role[]][])('%j differ in more than colour', (roles) => {
    expect(new Set(roles.map((role) => look(role, scheme).dash.join())).size).toBe(roles.length);
  });

  test('every role has a look', () => {
    for (const role of ROLES) expect(look(role, scheme).colour).toMatch(/^#[0-9a-f]{6}$/);
    expect(look({ nth: 255 }, scheme).colour).toMatch(/^#[0-9a-f]{6}$/);
  });

  test('the ramp rises in one direction, so that it can be read without colour', () => {
    const steps = colours.ramp.map((colour) => contrast(colour, colours.ground));
    expect([...steps].sort((a, b) => a - b)).toEqual(steps);
    expect(shade(0, scheme)).not.toBe(shade(1, scheme));
  });
});
