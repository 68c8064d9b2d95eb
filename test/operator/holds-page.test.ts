/** However holds are spread over processes, and known to Postgres as well, page after page gives each of them once and in order. Rules: operator.md "Socket", "Processes". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import type { Hold } from '../../src/ledger/ledger.ts'
import { type Page, pageOf } from '../../src/ledger/reading/page.ts'
import { holdsPage } from '../../src/operator/holds-page.ts'
import type { HoldsQuery } from '../../src/operator/message-json.ts'

const held = (at: number, keyId: string, amount: bigint): Hold => ({
  requestId: `req_${String(at).padStart(6, '0')}`,
  keyId,
  accountId: `acc_${keyId}`,
  modelId: 'm',
  format: 'chat',
  isStream: true,
  amountPicos: picos(amount),
  startedAt: at,
})

/** Each hold is in the memory of one process, in checkpoints, or in both. */
const spread = fc.uniqueArray(
  fc.record({
    at: fc.nat({ max: 999_999 }),
    key: fc.constantFrom('a', 'b'),
    process: fc.nat({ max: 3 }),
    where: fc.constantFrom('memory', 'marks', 'both'),
  }),
  { selector: ({ at }) => at, maxLength: 40 },
)

test('pages of several processes and of Postgres are pages of the whole', () => {
  const property = fc.property(spread, fc.integer({ min: 1, max: 12 }), fc.option(fc.constantFrom('a', 'b')), (all, limit, keyId) => {
    const memories = [0, 1, 2, 3].map((index) =>
      all.filter(({ process, where }) => process === index && where !== 'marks').map(({ at, key }) => held(at, key, 2n)),
    )
    const checkpoints = all.filter(({ where }) => where !== 'memory').map(({ at, key }) => held(at, key, 1n))
    const expected = all
      .filter(({ key }) => keyId === null || key === keyId)
      .sort((a, b) => a.at - b.at)
      .map(({ at, key, where }) => held(at, key, where === 'marks' ? 1n : 2n))
    const seen: Hold[] = []
    let after: string | null = null
    do {
      const query: HoldsQuery = { keyId, accountId: null, after, limit: limit + 1 }
      const answers = [checkpoints, ...memories].flatMap((holds) => holdsPage(holds, query))
      const page: Page<Hold> = pageOf(holdsPage(answers, query), limit, ({ requestId }) => requestId)
      expect(page.rows.length).toBeLessThanOrEqual(limit)
      seen.push(...page.rows)
      expect(seen.length).toBeLessThanOrEqual(all.length)
      after = page.next
    } while (after !== null)
    expect(seen).toEqual(expected)
  })
  fc.assert(property)
})
