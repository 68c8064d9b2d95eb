/** What a window has left reads as words, also where the last requests cost more than that. Rules: money.md "Budgets". */

import { expect, test } from 'bun:test'
import { leftText } from '../../src/cli/budgets.ts'
import { usd } from '../support/ledger.ts'

const window = (capUsd: string, spentUsd: string) =>
  ({
    of: 'key',
    per: 'day',
    capPicos: usd(capUsd),
    spentPicos: usd(spentUsd),
    heldPicos: usd('0'),
    resetsAt: Date.UTC(2026, 10, 28),
  }) as const

test('a window says what is left of it, and one that is overspent by how much and that nothing is left', () => {
  expect(leftText(window('5', '1.5'))).toBe('$3.500000 of $5.000000 left until 2026-11-28T00:00:00.000Z')
  expect(leftText(window('5', '5'))).toBe('$0.000000 of $5.000000 left until 2026-11-28T00:00:00.000Z')
  expect(leftText(window('0', '0.48'))).toBe('$0.480000 over $0.000000; nothing left until 2026-11-28T00:00:00.000Z')
})
