/** Protects processes.md "Admission": what relays of a file are granted, and what of it is backed and taken back, is what the model says, on every walk. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../../src/ledger/lease-move.ts'
import { type LeasedRows, RelayLeases } from '../../src/ledger/writing/relay-leases.ts'
import { type LeaseDatabase, LeaseModel } from '../support/lease-model.ts'
import { LeaseWalk, type WalkSetting, walkSetting, walkStep } from '../support/lease-walk.ts'
import { runs } from '../support/property-runs.ts'

const NOTHING = { accounts: [], keys: [] }

/** Next to the model, which keeps the balances and must say the same. */
class RelaysOfModel implements LeaseDatabase {
  readonly leases = new RelayLeases()
  readonly #model: LeaseModel
  readonly #limits: WalkSetting['limits']
  readonly #accounts: number

  constructor({ nodes, balances, limits }: WalkSetting) {
    this.#model = new LeaseModel(nodes, balances, limits)
    this.#limits = limits
    this.#accounts = balances.length
    for (let boot = 1; boot <= nodes; boot++) this.leases.join(boot, NOTHING)
  }

  move(boot: number, moves: readonly (LeaseAsk | LeaseMove)[]): readonly LeaseAnswer[] {
    return moves.map((move) => {
      const limit = this.#limits[move.keyNumber - 1]
      const left = this.#model.leftOf(move.keyNumber) ?? 0n
      const answer = this.leases.move(boot, move, {
        ...balanceOf(this.#model.balanceOf(move.accountNumber)),
        spentPicos: typeof limit === 'bigint' ? limit - left : 0n,
        key: limit === undefined ? undefined : { left: limit === null ? undefined : left, windows: [], isActive: true },
      })
      const [told] = this.#model.move(boot, [move])
      // Without a limit the rows of this test do not know what a key has spent.
      expect(answer && { ...answer, spentPicos: picos(0n) }).toEqual(told && { ...told, spentPicos: picos(0n) })
      return told as LeaseAnswer
    })
  }

  settle(boot: number, key: number, cost: bigint): void {
    this.#model.settle(boot, key, cost)
    this.leases.noteSettled(boot, { accountNumber: 1 + ((key - 1) % this.#accounts), keyNumber: key, costPicos: picos(cost) })
  }

  credit(account: number, amount: bigint): void {
    this.#model.credit(account, amount)
  }

  expire(boot: number): void {
    this.#model.expire(boot)
    this.leases.join(boot, NOTHING)
  }

  balanceOf(account: number): bigint {
    return this.#model.balanceOf(account)
  }

  leftOf(key: number): bigint | undefined {
    return this.#model.leftOf(key)
  }

  leasesOf(what: 'account' | 'key', number: number): ReturnType<LeaseDatabase['leasesOf']> {
    return this.#model.leasesOf(what, number)
  }
}

test('on every walk relays are granted what the model grants', () => {
  fc.assert(
    fc.property(walkSetting, fc.array(walkStep, { maxLength: 100, size: 'max' }), (setting, steps) => {
      const walk = new LeaseWalk(setting, new RelaysOfModel(setting))
      for (const step of steps) walk.step(step)
      walk.finish()
    }),
    { numRuns: runs(300) },
  )
}, 120_000)

const balanceOf = (balance: bigint): LeasedRows => ({
  hour: 0,
  ledgerMs: 0,
  isActive: true,
  balancePicos: balance,
  spentPicos: 0n,
  account: { left: balance, windows: [] },
  plan: undefined,
  key: { left: undefined, windows: [], isActive: true },
})
const ask = (number: number, amount: bigint, runsPicos = 0n): LeaseAsk => ({
  ...{ number, accountNumber: 1, accountRunsPicos: picos(runsPicos), keyNumber: 1, keyRunsPicos: null },
  amountPicos: picos(amount),
})

test('what a relay says that it holds is its lease, and is free when it is gone', () => {
  const leases = new RelayLeases()
  leases.join(1, { accounts: [[1, picos(90n)]], keys: [] })
  leases.join(2, NOTHING)
  expect(leases.move(2, ask(1, 20n), balanceOf(90n))?.verdict).toBe('wanted')
  leases.leave(1)
  expect(leases.move(2, ask(2, 20n), balanceOf(90n))?.verdict).toBe('granted')
})

test('a relay that is none any more is granted nothing', () => {
  const leases = new RelayLeases()
  leases.join(1, NOTHING)
  expect(leases.move(1, ask(1, 20n), balanceOf(90n))?.verdict).toBe('granted')
  leases.leave(1)
  expect(leases.move(1, ask(2, 20n), balanceOf(90n))).toBeUndefined()
})
