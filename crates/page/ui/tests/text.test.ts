import { expect, test } from 'vitest';
import { parted } from '../src/text';

test('what is not to be broken is told from what stands between', () => {
  expect(parted("repeat with --name after (--on ssh:HOST); not a--b, 3 -- 4")).toEqual(['repeat with ', '--name after', ' (', '--on ssh:HOST', '); not a--b, 3 -- 4']);
  expect(parted("--goal 'p99<50ms'")).toEqual(['', "--goal 'p99<50ms'", '']);
  expect(parted('512 pages × 24.9 ns = 47.1 µs, 5 hosts')).toEqual(['512 pages × ', '24.9 ns', ' = ', '47.1 µs', ', 5 hosts']);
  expect(parted('none')).toEqual(['none']);
});
