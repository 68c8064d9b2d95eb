/** Protects pages.md "Catalog": the limits of the configuration are shown in units that people know, and none is rounded. */

import { expect, test } from 'bun:test'
import { limitWords } from '../../src/web/console/pages/limit-words.ts'

test('a limit is shown in the largest unit of which it is a whole number', () => {
  expect(limitWords('first_event_timeout_ms', 120_000)).toBe('2 min')
  expect(limitWords('limits.start_timeout_ms', 90_000)).toBe('90 s')
  expect(limitWords('drain_ms', 1_500)).toBe('1,500 ms')
  expect(limitWords('idle_ms', 0)).toBe('0')
  expect(limitWords('kept_answers_bytes', 1_073_741_824)).toBe('1 GiB')
  expect(limitWords('body_bytes', 33_554_433)).toBe('33,554,433 bytes')
  expect(limitWords('body_bytes_per_minute', 1_048_576)).toBe('1 MiB a minute')
  expect(limitWords('requests_per_minute', 12_000)).toBe('12,000')
})
