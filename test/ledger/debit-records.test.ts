/** A debit that crosses to the ledger's thread as bytes arrives as it left, whatever its ids, figures and absences. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos, ZERO } from '../../src/core/money.ts'
import { OUTCOMES } from '../../src/core/outcome.ts'
import { fitsRecord, readDebits, writeDebits } from '../../src/ledger/debit-records.ts'
import type { Debit } from '../../src/ledger/task.ts'
import { runs } from '../support/property-runs.ts'

const count = fc.oneof(fc.nat(), fc.constantFrom(0, 2 ** 40, -1))
const amount = fc.oneof(fc.bigInt(0n, 2n ** 63n - 1n), fc.constant(0n)).map(picos)
const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 60 }))
const optional = <T>(name: string, value: fc.Arbitrary<T>) =>
  fc.option(value, { nil: undefined }).map((given) => (given === undefined ? {} : { [name]: given }))

const upstream = fc.tuple(fc.record({ name: text, model: text }), optional('messageId', text), optional('requestId', text))

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
const source = fc.constantFrom('final', 'partial', 'estimated', 'none')
const usage = fc.record({ input: count, output: count, cacheRead: count, cacheWrite5m: count, cacheWrite1h: count, serverToolUses: count })
const attempt = fc
  .record({ number: count, status: fc.option(count), cause: text, usageSource: source, usage, startedAt: count, durationMs: count })
  .chain((call) => upstream.map((parts) => ({ ...call, upstream: Object.assign({}, ...parts) })))

const debit = fc
  .tuple(
    fc.record({
      requestId: text,
      accountNumber: count,
      keyNumber: count,
      price: count,
      format: fc.constantFrom('messages', 'chat', 'responses'),
      isStream: fc.boolean(),
      hasCheckpoint: fc.boolean(),
      holdPicos: amount,
      startedAt: count,
      outcome: fc.constantFrom(...OUTCOMES),
      usageSource: source,
      usage,
      costPicos: amount,
      waivedPicos: amount,
      status: count,
      firstByteMs: fc.option(count),
      durationMs: fc.oneof(count, fc.double()),
      now: count,
    }),
    optional(
      'upstream',
      upstream.map((parts) => Object.assign({}, ...parts)),
    ),
    optional('attempts', count),
    optional('boot', count),
    optional('bytesPerToken', fc.double({ noNaN: true })),
    optional('sessionHash', hash),
    optional('idempotency', fc.record({ headerHash: hash, bodyHash: hash, expiresAt: count })),
    optional('otherAttempts', fc.array(attempt, { maxLength: 3 })),
  )
  .map((parts) => Object.assign({}, ...parts) as Debit)

test('a batch of any debits arrives as it left', () => {
  fc.assert(
    fc.property(fc.array(debit, { maxLength: 6 }), (debits) => {
      const numbered = debits.map((it, index) => ({ number: index * 1e9, debit: it }))
      expect(debits.every(fitsRecord)).toBe(true)
      // As a message carries it: a copy, at another place in another buffer.
      const sent = new Uint8Array([1, 2, 3, ...writeDebits(numbered)])
      expect(readDebits(sent.subarray(3))).toEqual(numbered)
    }),
    { numRuns: runs(300) },
  )
})

test('what no column can hold does not become something that it can', () => {
  const [one] = fc.sample(debit, 1)
  if (one === undefined) throw new Error('no sample')
  expect(fitsRecord({ ...one, costPicos: picos(2n ** 64n) })).toBe(false)
  expect(fitsRecord({ ...one, waivedPicos: picos(2n ** 63n), costPicos: ZERO })).toBe(false)
  expect(fitsRecord({ ...one, holdPicos: picos(-(2n ** 63n) - 1n) })).toBe(false)
  expect(fitsRecord({ ...one, requestId: 'r'.repeat(30_000) })).toBe(false)
  const [call] = fc.sample(attempt, 1)
  expect(fitsRecord({ ...one, otherAttempts: [{ ...call, cause: 'c'.repeat(30_000) }] as never })).toBe(false)
})
