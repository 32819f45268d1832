import { expect, test } from 'vitest';
import { parted } from '../src/text';

test('options are told from what stands between them', () => {
  expect(parted("repeat with --name after (--on ssh:HOST); not a--b, 3 -- 4")).toEqual(['repeat with ', '--name', ' after (', '--on', ' ssh:HOST); not a--b, 3 -- 4']);
  expect(parted("--goal 'p99<50ms'")).toEqual(['', '--goal', " 'p99<50ms'"]);
  expect(parted('none')).toEqual(['none']);
});
