/**
 * The part of a group that must outlive the process when the ledger cannot be written, as a frame of the spill and back: the debits, the checkpoints of requests that ended
 * without a receipt, and upstream calls. A frame has the price versions that its debits name, because the list that places refer to ends with the process.
 */

import { type Picos, picos } from '../../core/money.ts'
import type { Rates } from '../../core/pricing.ts'
import { WHOLE_FACTOR } from '../../core/upstream-cost.ts'
import type { PriceVersion } from '../columns/parts.ts'
import { RECORD_VERSION } from '../columns/receipt.ts'
import { fitsRecord, readDebits, writeDebits } from '../debit-records.ts'
import type { Calls, Debit, Task } from '../task.ts'
import { callsPricedBy, pricedBy } from './named-prices.ts'

/** The content of a frame. The `price` of debits and calls is a place in `prices`. */
export type Spilled = Readonly<{
  prices: readonly PriceVersion[]
  debits: readonly Debit[]
  /** Ids of the requests whose checkpoints are to be removed. */
  releases: readonly string[]
  calls: readonly Calls[]
}>

type Kept = Extract<Task, { kind: 'settle' | 'dropCheckpoint' | 'attempts' }>

export const canSpill = (task: Task): task is Kept =>
  task.kind === 'settle' ? fitsRecord(task.debit) : task.kind === 'dropCheckpoint' || task.kind === 'attempts'

/** `boot`: the boot that writes now; it is recorded because the frame outlives it. */
export function frameOf(tasks: readonly Kept[], versionAt: (index: number) => PriceVersion, boot: number): Uint8Array {
  const prices: PriceVersion[] = []
  const placeOf = (index: number): number => {
    const version = versionAt(index)
    const place = prices.indexOf(version)
    return place === -1 ? prices.push(version) - 1 : place
  }
  const debits: { number: number; debit: Debit }[] = []
  const releases: string[] = []
  const calls: Calls[] = []
  for (const task of tasks) {
    if (task.kind === 'settle') debits.push({ number: 0, debit: { boot, ...pricedBy(task.debit, placeOf) } })
    else if (task.kind === 'dropCheckpoint') releases.push(task.requestId)
    else calls.push(callsPricedBy(task.calls, placeOf))
  }
  const head = Buffer.from(
    JSON.stringify({
      version: RECORD_VERSION,
      prices: prices.map((version) => ({ ...version, rates: textsOf(version.rates) })),
      releases,
      calls,
    }),
  )
  const length = Buffer.alloc(4)
  length.writeUInt32LE(head.length)
  return Buffer.concat([length, head, writeDebits(debits)])
}

export function readFrame(frame: Uint8Array): Spilled {
  const bytes = Buffer.from(frame)
  const end = 4 + bytes.readUInt32LE(0)
  const { version, prices, releases, calls } = JSON.parse(bytes.toString('utf8', 4, end)) as {
    /** The version of the records; program 0.1.0 does not write this field. */
    version?: number
    /** Program 0.1.0 writes no level, group or factor, because it has none. */
    prices: { modelId: string; rates: RateTexts; abovePromptTokens?: number; group?: string; factorMillionths?: number }[]
    releases: string[]
    calls: Calls[]
  }
  return {
    prices: prices.map((version) => ({
      abovePromptTokens: 0,
      group: '',
      factorMillionths: WHOLE_FACTOR,
      ...version,
      rates: ratesOf(version.rates),
    })),
    debits: readDebits(new Uint8Array(bytes.subarray(end)), version ?? 1).map(({ debit }) => debit),
    releases,
    calls,
  }
}

type RateTexts = Record<keyof Rates, string>

const textsOf = (rates: Rates): RateTexts => Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, `${rate}`])) as RateTexts
const ratesOf = (texts: RateTexts): Rates =>
  Object.fromEntries(Object.entries(texts).map(([name, text]): [string, Picos] => [name, picos(BigInt(text))])) as Rates
