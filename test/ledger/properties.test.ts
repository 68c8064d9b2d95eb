/** Any history of requests, in any order, with duplicates and crashes, keeps the money exact. `FC_RUNS` sets how many histories are tried. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import type { Usage } from '../../src/core/usage.ts'
import { type Ask, createKey, holdTask, makePath, NOW, openMachine, operateTask, RATES, settlement, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

const RUNS = runs(60)
const TIMEOUT_MS = 180_000 + RUNS * 600
const KEYS = ['key_a', 'key_b', 'key_limited'] as const

/** A holder's own worst case: what a settle may cost at most. */
const WORST: Usage = { input: 900, output: 400, cacheRead: 900, cacheWrite5m: 900, cacheWrite1h: 900, serverToolUses: 1 }
const HOLD = costOf(WORST, RATES)

const usage: fc.Arbitrary<Usage> = fc.record({
  input: fc.nat(WORST.input),
  output: fc.nat(WORST.output),
  cacheRead: fc.nat(WORST.cacheRead),
  cacheWrite5m: fc.nat(WORST.cacheWrite5m),
  cacheWrite1h: fc.nat(WORST.cacheWrite1h),
  serverToolUses: fc.nat(WORST.serverToolUses),
})
const request = fc.nat(11).map((n) => `req_${n}`)

type Step = Readonly<{ kind: 'commit'; tasks: readonly Ask[] }> | Readonly<{ kind: 'crash' }>

const task: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(request, fc.constantFrom(...KEYS)).map(([id, keyId]) => holdTask(id, keyId, HOLD)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(request, usage)
      .map(
        ([requestId, seen]): Ask => ({ kind: 'checkpoint', requestId, progress: { usage: seen, usageSource: 'partial' }, now: NOW + 5 }),
      ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(request, usage, fc.boolean(), fc.nat(3))
      .map(([id, seen, isWaived, day]): Ask => ({ kind: 'settle', settlement: settlementOf(id, seen, isWaived, NOW + day * 86_400_000) })),
  },
  { weight: 2, arbitrary: request.map((requestId): Ask => ({ kind: 'void', requestId })) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(5), fc.bigInt(-40_000_000_000n, 60_000_000_000n)).map(([n, amount]) =>
      operateTask({
        kind: 'credit',
        creditKind: 'top-up',
        creditId: `top_${n}`,
        accountId: 'acc_shared',
        amountPicos: picos(amount),
        ref: `ref ${n}`,
        now: NOW,
      }),
    ),
  },
)

function settlementOf(requestId: string, seen: Usage, isWaived: boolean, now: number) {
  const price = costOf(seen, RATES)
  return settlement(requestId, seen, isWaived ? { outcome: 'fault', costPicos: picos(0n), waivedPicos: price, now } : { now })
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.array(task, { minLength: 1, maxLength: 6 }).map((tasks): Step => ({ kind: 'commit', tasks })) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'crash' }) },
)

/** What the ledger must say, kept in plain bigints from its own answers. */
class Oracle {
  readonly spent = new Map<string, bigint>()
  readonly running = new Map<string, { keyId: string; hasCheckpoint: boolean }>()
  /** By request: what its receipt took, and which process wrote it. */
  readonly settled = new Map<string, Readonly<{ cost: bigint; boot: number }>>()
  /** By request: what an account got back, or paid more, where another process had written other figures. */
  readonly corrections = new Map<string, bigint>()
  #boot = 1

  learn(asked: Ask, answer: unknown): void {
    switch (asked.kind) {
      case 'hold':
        if (answer === 'held' && !this.running.has(asked.request.requestId)) {
          this.running.set(asked.request.requestId, { keyId: asked.request.keyId, hasCheckpoint: false })
        }
        return
      case 'checkpoint':
        // An id that was used before cannot be checkpointed again: the database refuses it.
        for (const [requestId, hold] of this.running) hold.hasCheckpoint = !this.settled.has(requestId)
        return
      case 'settle': {
        const { requestId, costPicos } = asked.settlement
        expect(answer).toBe(this.answerTo(requestId, costPicos))
        const earlier = this.settled.get(requestId)
        if (answer === 'corrected' && earlier !== undefined) this.corrections.set(requestId, earlier.cost - costPicos)
        this.end(requestId, costPicos)
        return
      }
      case 'void':
        expect(answer).toBe(this.running.delete(asked.requestId) ? 'voided' : 'already')
        return
      // Top-ups are read back from the table; the histories hold no reads.
      case 'operate':
      case 'findKey':
      case 'findIdempotency':
    }
  }

  /** A process charges a request once. Where an earlier one did, with another price, its client was told this one: the account pays the difference, once. */
  answerTo(requestId: string, cost: bigint): 'settled' | 'already' | 'corrected' {
    if (!this.running.has(requestId)) return 'already'
    const earlier = this.settled.get(requestId)
    if (earlier === undefined) return 'settled'
    return earlier.boot === this.#boot || earlier.cost === cost || this.corrections.has(requestId) ? 'already' : 'corrected'
  }

  end(requestId: string, cost: bigint): void {
    const hold = this.running.get(requestId)
    if (hold === undefined) return
    this.running.delete(requestId)
    if (this.settled.has(requestId)) return
    this.settled.set(requestId, { cost, boot: this.#boot })
    this.spent.set(hold.keyId, (this.spent.get(hold.keyId) ?? 0n) + cost)
  }

  /** How many the next start finds. Nobody pays for them; a request that was settled before was never checkpointed again. */
  crash(): number {
    this.#boot++
    const marked = [...this.running].filter(([, { hasCheckpoint }]) => hasCheckpoint)
    for (const [requestId] of marked) this.end(requestId, 0n)
    this.running.clear()
    return marked.length
  }
}

test(
  'every order of hold, checkpoint, settle, void, duplicates and crashes keeps each invariant, settles once, and bounds the overdraft by one request',
  () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const path = makePath()
        let boot = 1
        let machine = openMachine(path, `boot-${boot}`)
        const oracle = new Oracle()
        machine.ask(operateTask({ kind: 'createAccount', accountId: 'acc_shared', name: '', topUp: null, now: NOW }))
        for (const keyId of KEYS) {
          const limitPicos = keyId === 'key_limited' ? usd('0.05') : null
          machine.ask(operateTask(createKey(keyId, { accountId: 'acc_shared', limitPicos })))
        }
        machine.ask(
          operateTask({
            kind: 'credit',
            creditKind: 'correction',
            creditId: 'first',
            accountId: 'acc_shared',
            amountPicos: usd('0.1'),
            ref: '',
            now: NOW,
          }),
        )
        for (const next of steps) {
          if (next.kind === 'crash') {
            machine.close()
            machine = openMachine(path, `boot-${++boot}`)
            expect(machine.ledger.recover(NOW + 10)).toBe(oracle.crash())
          } else {
            const answers = machine.askAll(...next.tasks)
            next.tasks.forEach((asked, index) => {
              oracle.learn(asked, answers[index])
            })
          }
          expect(machine.differences()).toEqual([])
          const corrected = sumOf(
            machine.db
              .query("SELECT CAST(coalesce(sum(amount_picos), 0) AS BIGINT) FROM credits WHERE id LIKE 'correction#_%' ESCAPE '#'")
              .values(),
          )
          expect(corrected).toBe(sumOf([...oracle.corrections.values()].map((amount) => [amount])))
          // A top-up that takes money back may overdraw; requests alone may not.
          const takenBack = sumOf(
            machine.db.query('SELECT CAST(coalesce(sum(amount_picos), 0) AS BIGINT) FROM credits WHERE amount_picos < 0').values(),
          )
          const balance = sumOf(machine.db.query('SELECT balance_picos FROM accounts').values())
          expect(balance - takenBack >= -HOLD).toBe(true)
          for (const keyId of KEYS) {
            const [[spent]] = machine.db.query('SELECT spent_picos FROM keys WHERE id = ?').values(keyId) as [[bigint]]
            const held = machine.wallets.holds().filter((hold) => hold.keyId === keyId)
            expect(spent).toBe(oracle.spent.get(keyId) ?? 0n)
            const keyBalance = machine.wallets.keys.keyBalanceOf(keyId)
            if (keyBalance !== undefined)
              expect([keyBalance.spentPicos, keyBalance.account.balancePicos]).toEqual([picos(spent), picos(balance)])
            expect(held).toHaveLength([...oracle.running.values()].filter((hold) => hold.keyId === keyId).length)
            if (keyId === 'key_limited') expect(spent < usd('0.05') + HOLD).toBe(true)
          }
        }
        machine.close()
      }),
      { numRuns: RUNS },
    )
  },
  TIMEOUT_MS,
)

test(
  'sums are exact to the picodollar against independent arithmetic, over many receipts',
  () => {
    fc.assert(
      fc.property(fc.array(usage, { minLength: 1, maxLength: 200 }), (usages) => {
        const machine = openMachine()
        machine.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
        machine.askAll(...usages.map((_, index) => holdTask(`req_${index}`, 'key_a', HOLD)))
        machine.askAll(...usages.map((seen, index): Ask => ({ kind: 'settle', settlement: settlement(`req_${index}`, seen) })))
        let expected = 0n
        for (const seen of usages) {
          expected += 3_000_000n * BigInt(seen.input) + 15_000_000n * BigInt(seen.output) + 300_000n * BigInt(seen.cacheRead)
          expected +=
            3_750_000n * BigInt(seen.cacheWrite5m) + 6_000_000n * BigInt(seen.cacheWrite1h) + 10_000_000_000n * BigInt(seen.serverToolUses)
        }
        const [[balance]] = machine.db.query('SELECT balance_picos FROM accounts').values() as [[bigint]]
        expect(balance).toBe(1_000_000_000_000_000n - expected)
        expect(machine.differences()).toEqual([])
        machine.close()
      }),
      { numRuns: Math.ceil(RUNS / 6) },
    )
  },
  TIMEOUT_MS,
)

const sumOf = (rows: readonly (readonly unknown[])[]): bigint => rows.reduce((sum, [amount]) => sum + BigInt(String(amount)), 0n)
