/**
 * Protects processes.md "Death", ledger.md "Spill": what ends while the ledger process is away for long is on disk before its client hears of the end, and is charged once, also
 * where its relay does not live to see the ledger process again.
 */

import { expect, test } from 'bun:test'
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { RelaySpill } from '../../src/ledger/relays/relay-spill.ts'
import { ACT, balanceAt, createKey, holdRequest, makeFolder, RATES, settlement, sha256, usd } from '../support/ledger.ts'
import { cutter, openLedgerProcess, openTestRelay, type TestRelay } from '../support/relays.ts'
import { until } from '../support/until.ts'

const pathOf = (): string => join(makeFolder(), 'ledger.db')
const holdOf = (requestId: string) => holdRequest(requestId, 'key_1', usd('0.5'), { now: Date.now() })
/** 0.3 USD. */
const settlementOf = (requestId: string) => settlement(requestId, { input: 100_000 }, { now: Date.now() })
/** The spills of relays beside the ledger. */
const spillsAt = (path: string): readonly string[] =>
  readdirSync(dirname(path)).filter((name) => /-.*\.spill(?:\.taken)?$/.test(name.slice(basename(path).length)))
const balanceOf = (path: string) => balanceAt(path, 'key_1')?.availablePicos

/** A ledger process with one relay that holds `req_1` and `req_2`, and that waits for 100 ms before it keeps ends itself. */
async function openHolding(path: string) {
  const main = await openLedgerProcess(path)
  await main.ledger.operate(createKey('key_1', { balanceUsd: '10' }), ACT)
  const relay = await openTestRelay(path, { retryMs: 100 })
  await relay.ledger.findKey(sha256('key_1'))
  await until(() => relay.ledger.mayAdmit(), 'it may admit')
  for (const id of ['req_1', 'req_2']) expect(await relay.ledger.hold(holdOf(id))).toBe('held')
  return { main, relay }
}

const kept = ({ faults }: TestRelay): boolean => faults.some((fault) => fault.startsWith('the ledger process is away: '))

test('what ends while the ledger process is away is acknowledged once it is on disk, and booked once when that is there again', async () => {
  const path = pathOf()
  const { main, relay } = await openHolding(path)
  await main.ledger.close()
  expect(await relay.ledger.settle(settlementOf('req_1'))).toBe('settled')
  expect(kept(relay)).toBe(true)
  const [spill = ''] = spillsAt(path)
  expect(statSync(join(dirname(path), spill)).mode & 0o777).toBe(0o600)
  expect(balanceOf(path)).toBe(usd('10'))
  const again = await openLedgerProcess(path, { expected: [relay.bootId] })
  expect(balanceOf(path)).toBe(usd('9.7'))
  await until(() => relay.ledger.mayAdmit(), 'it may admit again')
  expect(await relay.ledger.settle(settlementOf('req_2'))).toBe('settled')
  expect(await relay.ledger.settle(settlementOf('req_1'))).toBe('already')
  expect(balanceOf(path)).toBe(usd('9.4'))
  // A second absence: what the first one left in the file is not read again.
  await again.ledger.close()
  await until(() => !relay.ledger.mayAdmit(), 'it sees that it is gone')
  const third = await openLedgerProcess(path, { expected: [relay.bootId] })
  await until(() => relay.ledger.mayAdmit(), 'it may admit once more')
  expect(third.faults).toEqual([])
  expect(balanceOf(path)).toBe(usd('9.4'))
  await relay.ledger.close()
  await until(() => spillsAt(path).length === 0, 'the spill goes with its relay')
  await third.ledger.close()
})

test('what a relay kept is booked where the relay dies before it has told, and before what it had in flight is waived', async () => {
  const path = pathOf()
  const { main, relay } = await openHolding(path)
  await main.ledger.close()
  expect(await relay.ledger.settle(settlementOf('req_1'))).toBe('settled')
  expect(spillsAt(path)).toHaveLength(1)
  // No process of this relay lives for the next ledger process.
  const again = await openLedgerProcess(path, { create: false })
  expect(balanceOf(path)).toBe(usd('9.7'))
  expect(spillsAt(path)).toEqual([])
  await again.ledger.close()
})

const ENDS = [{ kind: 'attempts', calls: { requestId: 'req_1', accountNumber: 1, keyNumber: 1, price: 0, attempts: [] } }] as const
const versionAt = () => ({ modelId: 'model', abovePromptTokens: 0, group: '', factorMillionths: 1_000_000, rates: RATES })

test('a relay whose spill was taken away, because it counts as gone, keeps nothing more in it', () => {
  const path = join(makeFolder(), 'ledger.db.relay-1.spill')
  const spill = new RelaySpill(path, () => undefined)
  const joined = { boot: 1, ledgerId: 'led_1', frames: 0 }
  expect(spill.keep(ENDS, versionAt)).toBe(false)
  expect(spill.join(joined)).toBe('in')
  expect(spill.keep(ENDS, versionAt)).toBe(true)
  expect(spill.join(joined)).toBe('again')
  expect(spill.join({ ...joined, frames: 1 })).toBe('in')
  expect(spill.keep(ENDS, versionAt)).toBe(true)
  renameSync(path, `${path}.taken`)
  const { mtimeMs } = statSync(`${path}.taken`)
  expect(spill.keep(ENDS, versionAt)).toBe(false)
  expect(statSync(`${path}.taken`).mtimeMs).toBe(mtimeMs)
  expect(spill.join({ ...joined, frames: 1 })).toBe('gone')
  expect(existsSync(path)).toBe(false)
  spill.close()
})

test('an end that a relay keeps in the moment in which its spill is taken away is not acknowledged', () => {
  const path = join(makeFolder(), 'ledger.db.relay-1.spill')
  const spill = new RelaySpill(path, () => undefined)
  expect(spill.join({ boot: 1, ledgerId: 'led_1', frames: 0 })).toBe('in')
  const takenAway = () => {
    renameSync(path, `${path}.taken`)
    return versionAt()
  }
  expect(spill.keep(ENDS, takenAway)).toBe(false)
  spill.close()
})

test('a spill of another ledger at the place of a relay is left as it is', async () => {
  const path = pathOf()
  const foreign = `${path}.0a-1.spill`
  const spill = new RelaySpill(foreign, () => undefined)
  spill.join({ boot: 1, ledgerId: 'another', frames: 0 })
  spill.keep(ENDS, versionAt)
  spill.close()
  const main = await openLedgerProcess(path)
  await main.ledger.close()
  expect(existsSync(foreign)).toBe(true)
  expect(main.faults).toEqual([`${foreign} holds charges of another ledger: it is left as it is`])
})

test('a relay that was cut off as gone is fenced also by a ledger process that begins after that and knows nothing of it', async () => {
  const path = pathOf()
  const { main, relay } = await openHolding(path)
  await main.ledger.close()
  const [name = ''] = spillsAt(path)
  renameSync(join(dirname(path), name), join(dirname(path), `${name}.taken`))
  const again = await openLedgerProcess(path, { expected: [relay.bootId] })
  await until(() => relay.fenced.length > 0, 'it is fenced')
  expect(relay.ledger.mayAdmit()).toBe(false)
  await again.ledger.close()
})

test('a socket that is cut for longer than a relay waits loses no end: the living ledger process reads what was kept when the relay joins again', async () => {
  const path = pathOf()
  const main = await openLedgerProcess(path)
  await main.ledger.operate(createKey('key_1', { balanceUsd: '10' }), ACT)
  let between = cutter(main.socket)
  const relay = await openTestRelay(path, { retryMs: 50 }, between.path)
  await relay.ledger.findKey(sha256('key_1'))
  await until(() => relay.ledger.mayAdmit(), 'it may admit')
  for (let n = 0; n < 5; n++) {
    expect(await relay.ledger.hold(holdOf(`req_${n}`))).toBe('held')
    between.close()
    between.cut()
    expect(await relay.ledger.settle(settlementOf(`req_${n}`))).toBe('settled')
    between = cutter(main.socket)
    await until(() => relay.ledger.mayAdmit(), 'it is back')
  }
  expect(kept(relay)).toBe(true)
  expect(balanceOf(path)).toBe(usd('8.5'))
  expect(main.faults).toEqual([])
  await relay.ledger.close()
  await main.ledger.close()
  between.close()
})
