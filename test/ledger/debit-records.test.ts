/** A debit that crosses to the ledger's thread as bytes arrives as it left, whatever its ids, figures and absences. */

import { expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Column, givenOf, type Kind } from '../../db/facts/column.ts'
import { RECEIPT } from '../../db/facts/receipts.ts'
import { FORMAT_NAMES } from '../../src/core/format.ts'
import { picos, ZERO } from '../../src/core/money.ts'
import { OUTCOMES, USAGE_SOURCES } from '../../src/core/outcome.ts'
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
const source = fc.constantFrom(...USAGE_SOURCES)
const usage = fc.record({ input: count, output: count, cacheRead: count, cacheWrite5m: count, cacheWrite1h: count, serverToolUses: count })
const attempt = fc
  .record({ number: count, status: fc.option(count), cause: text, usageSource: source, usage, startedAt: count, durationMs: count })
  .chain((call) => upstream.map((parts) => ({ ...call, upstream: Object.assign({}, ...parts) })))

const VALUE: Readonly<Record<Kind, fc.Arbitrary<unknown>>> = {
  text,
  whole: count,
  time: count,
  ms: fc.oneof(count, fc.double()),
  picos: amount,
  flag: fc.boolean(),
  hash,
  thousandths: fc.double({ noNaN: true }),
}
const WORDS: Readonly<Record<string, readonly string[]>> = { FORMAT_NAMES, OUTCOMES, USAGE_SOURCES }

const PARTS: Readonly<Record<string, fc.Arbitrary<object>>> = {
  usage: usage.map((counters) => ({ usage: counters })),
  upstream: optional(
    'upstream',
    upstream.map((parts) => Object.assign({}, ...parts)),
  ),
}

/** What is told of a column, out of its description. */
function told(column: Column): fc.Arbitrary<object> {
  const given = givenOf(column)
  const part = PARTS[given.split('.')[0] ?? '']
  if (part !== undefined) return part
  const value = column.words === undefined ? VALUE[column.kind] : fc.constantFrom(...(WORDS[column.words.list] ?? []))
  // No duration is what the record keeps for none.
  const some = value.filter((one) => !Number.isNaN(one))
  if (column.isOptional) return optional(given, some)
  return (column.isNullable ? fc.option(some) : column.kind === 'ms' ? value : some).map((one) => ({ [given]: one }))
}

const debit = fc
  .tuple(
    fc.record({ hasCheckpoint: fc.boolean() }),
    optional('idempotency', fc.record({ headerHash: hash, bodyHash: hash, expiresAt: count })),
    optional('otherAttempts', fc.array(attempt, { maxLength: 3 })),
    ...RECEIPT.filter(({ from }) => from !== 'row').map(told),
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

/** Two, as 0.1.0 wrote them, compressed. */
const OF_0_1_0 =
  'H4sIAAAAAAAAA2NgAAERBzDF8MEeQjNA+RwOqHyYPIwWQZNXg9IaUFoLSutAaT0obQClM6H0j3ooDTL3aKthlRNDgx2ERjGfC9MdDUbHEepkHHQZsAIHBmY2Th5+IVEJaTlFFXUtXQNjM0sbeydXD2+/wJDwqFgGVi5+EUk5ZQ1dI3MbRzfvgNCo+JTMvOKK2qb2nonTZjOw84nKKGsZWti7+YZEJ2UWlNe19kyetXDF+m17j5y+dJONoSi1MP7wylcM0dVKeaW5SalFSlaGOkqlBcUlRamJuUpW1Up5ibmpSlZK+Uo6Srn5Kak5SlZKuUq1OkrFJYklpcVKVnmlOTk6SsmJpcUgZUWpxaklSjpKpcWJ6anB+aVFySDRvPy8VJggyMzMvILSEiUrQ0MdpfzSEgjbCGRIckZqUGpiipKVoTGUG16UWZJqmqtkZWiCLGKYoWRlaKqjVJxaVJZaFJKfnxNanFqsZGVoBnFaUUlqiiPIWB2llNKixJLM/DzfYiUro9pYFobcxMw8Robc//8ZGYoYGDyZYMEtQWJ6ggFqpScBWLrCkZ7g6Q1KowOEPK70dIOVgYEDuxxVACw9/f8P4QMAd/fItagDAAA='

test('a record of version 1, as a spill may keep it, is read by every later program', () => {
  const [full, short]: readonly unknown[] = readDebits(new Uint8Array(gunzipSync(Buffer.from(OF_0_1_0, 'base64'))), 1)
  const bytesOf = (step: number): Uint8Array => new Uint8Array(32).map((_, index) => (index * step) & 255)
  const counters = { input: 11, output: 12, cacheRead: 13, cacheWrite5m: 14, cacheWrite1h: 15, serverToolUses: 16 }
  const both = {
    ...{ requestId: 'req_é', accountNumber: 1, keyNumber: 2, price: 3, format: 'responses', isStream: true, outcome: 'cut', status: 200 },
    ...{ usageSource: 'estimated', usage: counters, durationMs: 1.5, startedAt: 1_800_000_000_000, now: 1_800_000_001_000 },
    ...{ costPicos: picos(45n), waivedPicos: ZERO, holdPicos: picos(2n ** 62n) },
  } as const
  expect(short).toEqual({ number: 6, debit: { ...both, hasCheckpoint: false, firstByteMs: 4 } })
  const other = {
    number: 1,
    upstream: { name: 'o', model: 'm' },
    status: null,
    cause: 'reset',
    usageSource: 'none',
    usage: counters,
  } as const
  expect(full).toEqual({
    number: 5,
    debit: {
      ...both,
      ...{ hasCheckpoint: true, firstByteMs: null, attempts: 2, bytesPerToken: 3.25, boot: 7, sessionHash: bytesOf(3) },
      upstream: { name: 'main', model: 'm', requestId: 'r' },
      idempotency: { headerHash: bytesOf(5), bodyHash: bytesOf(7), expiresAt: 1_800_000_009_000 },
      otherAttempts: [{ ...other, startedAt: 1, durationMs: 2 }],
    },
  })
})
