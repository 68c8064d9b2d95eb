/**
 * Protects money.md "Budgets" from clocks: what later hours have spent is never spent again by a process that starts, or reads a key, while its clock is behind its rows; and a clock that was years
 * ahead keeps no window for ever.
 */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { HOUR_MS, hourAt, presentHour, steppedHours, windowAt } from '../../src/core/windows.ts'
import { WalletLeases } from '../../src/ledger/admission/wallet-leases.ts'
import { stepText } from '../../src/ledger/admission/window-clock.ts'
import { WriterHour } from '../../src/ledger/admission/writer-hour.ts'
import { createKey, holdRequest, type Machine, makePath, NOW, openMachine, operateTask, settlement } from '../support/ledger.ts'

const RATE = 15_000_000n
const YEAR_MS = 365 * 24 * HOUR_MS

function machineWith(per: 'hour' | 'day', tokens: bigint, path = makePath()): Machine {
  const machine = openMachine(path)
  machine.ask(operateTask(createKey('key_0', { balanceUsd: '1000' })))
  const budget = { accountId: 'acc_0', keyId: 'key_0', per, capPicos: picos(tokens * RATE), setBy: 'operator', now: NOW } as const
  machine.ask(operateTask({ kind: 'setBudget', ...budget }))
  return machine
}

const hold = (machine: Machine, id: string, now: number): unknown =>
  machine.ask({ kind: 'hold', request: holdRequest(id, 'key_0', picos(RATE), { now }) })

function spend(machine: Machine, id: string, tokens: number, now: number): void {
  expect(hold(machine, id, now)).toBe('held')
  machine.ask({ kind: 'settle', settlement: settlement(id, { output: tokens }, { now }) })
}

test('a process that starts while its clock is behind its rows goes on in the newest hour of the account: nothing is spent twice', () => {
  const path = makePath()
  const machine = machineWith('hour', 4n, path)
  spend(machine, 'req_first', 4, NOW + 3 * HOUR_MS)
  machine.db.close()
  const next = openMachine(path, 'boot-2')
  const refused = { per: 'hour', resetsAt: NOW + 4 * HOUR_MS }
  expect(hold(next, 'req_behind', NOW)).toEqual(refused)
  expect(hold(next, 'req_there', NOW + 3 * HOUR_MS)).toEqual(refused)
  expect(hold(next, 'req_later', NOW + 4 * HOUR_MS)).toBe('held')
  next.close()
})

test('a clock that was years ahead is followed back: windows are those of the time, and what was spent ahead counts there', () => {
  for (const isStartedAnew of [false, true]) {
    const path = makePath()
    let machine = machineWith('day', 4n, path)
    spend(machine, 'req_now', 1, NOW)
    spend(machine, 'req_ahead', 4, NOW + YEAR_MS)
    expect(hold(machine, 'req_no', NOW + YEAR_MS)).toEqual({ per: 'day', resetsAt: windowAt('day', hourAt(NOW + YEAR_MS)).end * HOUR_MS })
    if (isStartedAnew) {
      machine.db.close()
      machine = openMachine(path, 'boot-2')
    }
    spend(machine, 'req_back', 2, NOW)
    expect(machine.wallets.keys.keyBalanceOf('key_0', hourAt(NOW))?.windows?.map(({ spentPicos }) => spentPicos / RATE)).toEqual([3n])
    spend(machine, 'req_last', 1, NOW)
    expect(hold(machine, 'req_over', NOW)).toEqual({ per: 'day', resetsAt: windowAt('day', hourAt(NOW)).end * HOUR_MS })
    expect(hold(machine, 'req_again', NOW + YEAR_MS)).toEqual({
      per: 'day',
      resetsAt: windowAt('day', hourAt(NOW + YEAR_MS)).end * HOUR_MS,
    })
    expect(machine.differences()).toEqual([])
    machine.close()
  }
})

test('what runs while a clock is found to have been wrong counts in its own hour: not in the windows now, and again when that hour comes', () => {
  const machine = machineWith('day', 4n)
  expect(hold(machine, 'req_ahead', NOW + 100 * HOUR_MS)).toBe('held')
  const heldNow = () => machine.wallets.keys.keyBalanceOf('key_0')?.windows?.map(({ heldPicos }) => heldPicos / RATE)
  expect(hold(machine, 'req_now', NOW)).toBe('held')
  expect(heldNow()).toEqual([1n])
  machine.ask({ kind: 'settle', settlement: settlement('req_now', { output: 2 }, { now: NOW }) })
  machine.ask({ kind: 'settle', settlement: settlement('req_ahead', { output: 4 }, { now: NOW }) })
  expect(hold(machine, 'req_more', NOW)).toBe('held')
  expect(hold(machine, 'req_then', NOW + 100 * HOUR_MS)).toEqual({
    per: 'day',
    resetsAt: windowAt('day', hourAt(NOW + 100 * HOUR_MS)).end * HOUR_MS,
  })
  machine.close()
})

test('what was spent ahead of a clock that came back counts when its day comes, also where the balance is looked at before the first request of that day', () => {
  for (const isLookedAt of [false, true]) {
    const machine = machineWith('day', 4n)
    const day = windowAt('day', hourAt(NOW + 100 * HOUR_MS))
    spend(machine, 'req_now', 1, NOW)
    spend(machine, 'req_ahead', 4, (day.start + 20) * HOUR_MS)
    spend(machine, 'req_back', 1, NOW)
    if (isLookedAt) machine.wallets.keys.keyBalanceOf('key_0', day.start)
    expect(hold(machine, 'req_then', day.start * HOUR_MS)).toEqual({ per: 'day', resetsAt: day.end * HOUR_MS })
    machine.close()
  }
})

test('the windows of a disabled key are those of the clock again after its next request, though that is refused', () => {
  const machine = machineWith('day', 4n)
  spend(machine, 'req_ahead', 1, NOW + YEAR_MS)
  machine.ask(operateTask({ kind: 'setKeyActive', keyId: 'key_0', isActive: false, now: NOW }))
  expect(hold(machine, 'req_off', NOW)).toBe('disabled')
  expect(machine.wallets.keys.keyBalanceOf('key_0')?.windows?.map(({ spentPicos, resetsAt }) => [spentPicos, resetsAt])).toEqual([
    [picos(0n), windowAt('day', hourAt(NOW)).end * HOUR_MS],
  ])
  machine.close()
})

test('a balance that was looked at while the clock was years ahead lets nothing in there: the next request is one of the present windows', () => {
  const machine = machineWith('day', 4n)
  spend(machine, 'req_now', 4, NOW)
  expect(machine.wallets.keys.keyBalanceOf('key_0', hourAt(NOW + YEAR_MS))?.windows?.map(({ spentPicos }) => spentPicos)).toEqual([
    picos(0n),
  ])
  expect(hold(machine, 'req_over', NOW)).toEqual({ per: 'day', resetsAt: windowAt('day', hourAt(NOW)).end * HOUR_MS })
  machine.close()
})

test('a clock is waited for while it is 25 hours behind at most, and a step of more is told once, of the writer and of leases', () => {
  expect([presentHour(100, 75), presentHour(100, 74), presentHour(100, 130)]).toEqual([100, 74, 130])
  expect([steppedHours(25, 0), steppedHours(26, 0), steppedHours(26, 3 * HOUR_MS), steppedHours(-26, 0)]).toEqual([0, 26, 0, -26])
  const steps: number[] = []
  const stale: string[] = []
  const hour = new WriterHour({ setAllIndeterminate: () => stale.push('all') }, (hours) => steps.push(hours))
  for (const [clock, nowMs] of [
    [1_000, 0],
    [1_020, HOUR_MS],
    [1_000, HOUR_MS],
    [9_000, 2 * HOUR_MS],
    [1_001, 2 * HOUR_MS],
    [1_102, 103 * HOUR_MS],
  ] as const)
    hour.turn(clock, nowMs)
  expect([steps, stale]).toEqual([[7_979, -7_999], ['all']])
  expect(stepText(-7_999)).toContain('went back by 7999 hours')
  const told: number[] = []
  const leases = new WalletLeases(
    () => [],
    (hours) => told.push(hours),
  )
  for (const ms of [NOW, NOW + 20 * HOUR_MS, NOW + YEAR_MS, NOW]) leases.learnTime(ms, 0)
  expect(told).toEqual([8_740, -8_760])
})
