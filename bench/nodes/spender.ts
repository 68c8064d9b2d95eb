/**
 * A process that holds and settles on one ledger, as a gateway does, but does nothing else: it keeps a number of requests in flight, or begins so many a second
 * whether or not earlier ones have ended. Takes jobs by IPC and answers each with what it saw.
 */

import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedgerAt } from '../../src/ledger/open.ts'
import { newId } from '../../src/ledger/operations/new-id.ts'
import type { Place } from '../../src/ledger/place.ts'
import { createKey, holdRequest, settlement } from '../../test/support/ledger.ts'
import { HOLD, UPSTREAM, USED } from '../debits.ts'
import { quantile } from '../statistics.ts'

/** `accounts` is the number of accounts, each with one key; the process with `makesAccounts` makes them. */
export type Opening = Readonly<{ kind: 'open'; place: Place; accounts: number; makesAccounts: boolean }>

export type SpendJob = Readonly<{
  kind: 'spend'
  /** Spends go round over the first so many accounts. */
  accounts: number
  /** As fast as possible with so many requests in flight, or with so many requests that begin in a second. */
  pace: Readonly<{ inFlight: number }> | Readonly<{ perSecond: number }>
  warmMs: number
  windowMs: number
}>

/** `settles`, `seconds` and the quantiles of a settle, in microseconds, are of the window. `all`: the settles before, in and after the window. */
export type Spent = Readonly<{ settles: number; seconds: number; p50: number; p99: number; cpuUs: number; all: number }>

const MADE_AT_ONCE = 100
const DRAIN_MS = 10_000

class Spender {
  readonly #ledger: Ledger
  #requests = 0
  #ended = 0
  #inWindow = false
  #took: number[] = []

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  async spend({ accounts, pace, warmMs, windowMs }: SpendJob): Promise<Spent> {
    const before = this.#ended
    let isOver = false
    const running =
      'inFlight' in pace ? this.#keep(pace.inFlight, accounts, () => isOver) : this.#begin(pace.perSecond, accounts, () => isOver)
    await Bun.sleep(warmMs)
    this.#took = []
    const [cpu, from] = [process.cpuUsage(), performance.now()]
    this.#inWindow = true
    await Bun.sleep(windowMs)
    this.#inWindow = false
    const [used, tookMs] = [process.cpuUsage(cpu), performance.now() - from]
    isOver = true
    await running
    const sorted = Float64Array.from(this.#took).sort()
    return {
      settles: sorted.length,
      seconds: tookMs / 1_000,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      cpuUs: used.user + used.system,
      all: this.#ended - before,
    }
  }

  async #keep(inFlight: number, accounts: number, isOver: () => boolean): Promise<void> {
    const client = async (): Promise<void> => {
      while (!isOver()) await this.#once(accounts)
    }
    await Promise.all(Array.from({ length: inFlight }, client))
  }

  async #begin(perSecond: number, accounts: number, isOver: () => boolean): Promise<void> {
    const from = performance.now()
    const running = new Set<Promise<void>>()
    for (let begun = 0; !isOver(); await Bun.sleep(1)) {
      for (const due = ((performance.now() - from) * perSecond) / 1_000; begun < due; begun++) {
        const one = this.#once(accounts).finally(() => running.delete(one))
        running.add(one)
      }
    }
    const late = Bun.sleep(DRAIN_MS).then(() => Promise.reject(new Error(`settles that did not end within ${DRAIN_MS} ms`)))
    await Promise.race([Promise.all(running), late])
  }

  async #once(accounts: number): Promise<void> {
    const number = this.#requests++
    const now = Date.now()
    const requestId = newId('boot', now).replace('boot', 'req')
    const answer = await this.#ledger.hold(holdRequest(requestId, `key_${number % accounts}`, HOLD, { now }))
    if (answer !== 'held') throw new Error(`not held: ${answer}`)
    const from = performance.now()
    const settled = await this.#ledger.settle(settlement(requestId, USED, { upstream: UPSTREAM, now: Date.now() }))
    if (settled !== 'settled') throw new Error(`not settled: ${settled}`)
    this.#ended++
    if (this.#inWindow) this.#took.push((performance.now() - from) * 1_000)
  }
}

async function open({ place, accounts, makesAccounts }: Opening): Promise<Ledger> {
  const opened = await openLedgerAt(place, {
    create: true,
    bootId: newId('boot', Date.now()),
    startThread: () => new Worker(new URL('../../src/ledger/thread.ts', import.meta.url)),
    startSyncDriver: () => new Worker(new URL('../../src/ledger/postgres/sync-driver.ts', import.meta.url)),
    now: Date.now,
    onFault: ({ problem }) => console.error(problem),
  })
  if ('problem' in opened) throw new Error(opened.message)
  const { ledger } = opened
  for (let at = 0; makesAccounts && at < accounts; at += MADE_AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(MADE_AT_ONCE, accounts - at) }, (_, index) =>
        ledger.operate(createKey(`key_${at + index}`, { balanceUsd: '1000000' })),
      ),
    )
  return ledger
}

let ledger: Ledger | undefined
let spender: Spender | undefined

async function answer(asked: Opening | SpendJob | Readonly<{ kind: 'close' }>): Promise<unknown> {
  if (asked.kind === 'open') {
    ledger = await open(asked)
    spender = new Spender(ledger)
    return {}
  }
  if (asked.kind === 'spend') return await spender?.spend(asked)
  await ledger?.close()
  return {}
}

process.on('message', (asked: Parameters<typeof answer>[0]) => {
  answer(asked)
    .catch((error: unknown) => ({ crash: String(error) }))
    .then((answered) => process.send?.(answered))
    .catch(() => process.exit(1))
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
