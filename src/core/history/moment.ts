/**
 * A minute or an hour of a gateway as rows: how many requests ended in it, how many of them were refused and why, and how long they took, by model and upstream. Sums of
 * money are not here: those are the ledger's. Rules: pages.md "History".
 */

import { Times } from '../times.ts'
import { type AccountRow, BoundedCounts } from './bounded-counts.ts'

/** Seconds: a moment is a minute or an hour. */
export type Step = 60 | 3_600

/** A request that has ended. `count`: how many requests it stands for, where it may stand for several. */
export type Ended = Readonly<{
  model?: string | undefined
  upstream?: string | undefined
  accountId?: string | undefined
  refusal?: string | undefined
  count?: number | undefined
  firstByteMs?: number | undefined
  durationMs: number
}>

/** `model`, `upstream`: '' where the request had none. `refusals`: a JSON object of names and counts. `firstByte`, `duration`: as `Times` writes them. */
export type CellRow = Readonly<{
  model: string
  upstream: string
  requests: number
  refusals: string
  firstByte: Uint8Array<ArrayBuffer>
  duration: Uint8Array<ArrayBuffer>
}>

/** One boot of a process, by its name; `beganAt`: Unix seconds. */
export type Writer = Readonly<{ name: string; beganAt: number }>

/** All rows of one writer's moment: they replace the rows that it wrote of the same moment before. `at`: Unix seconds of its start. */
export type MomentRows = Readonly<{
  writer: string
  step: Step
  at: number
  cells: readonly CellRow[]
  accounts: readonly AccountRow[]
}>

/** The most cells of a moment. Names come from the configuration, so only reloads can bring more. */
const CELLS_MAX = 2_000
/** How many accounts a moment counts by themselves. */
const ACCOUNTS_MAX = 200

type Cell = { requests: number; readonly refusals: Map<string, number>; readonly firstByte: Times; readonly duration: Times }
const newCell = (): Cell => ({ requests: 0, refusals: new Map(), firstByte: new Times(), duration: new Times() })

export class Moment {
  readonly step: Step
  readonly at: number
  readonly #cells = new Map<string, Cell>()
  readonly #accounts = new BoundedCounts(ACCOUNTS_MAX)
  /** Requests have ended since the rows were last made. */
  isChanged = false

  constructor(step: Step, at: number) {
    this.step = step
    this.at = at
  }

  add({ model = '', upstream = '', accountId = '', refusal, count = 1, firstByteMs, durationMs }: Ended): void {
    const cell = this.#cellNamed(`${model}${SEPARATOR}${upstream}`)
    cell.requests += count
    if (refusal !== undefined) cell.refusals.set(refusal, (cell.refusals.get(refusal) ?? 0) + count)
    if (firstByteMs !== undefined) cell.firstByte.add(firstByteMs)
    cell.duration.add(durationMs, count)
    this.#accounts.add(accountId, count, refusal !== undefined)
    this.isChanged = true
  }

  /** Adds all requests of another moment. */
  addAll(other: Moment): void {
    for (const [name, { requests, refusals, firstByte, duration }] of other.#cells) {
      const cell = this.#cellNamed(name)
      cell.requests += requests
      for (const [reason, count] of refusals) cell.refusals.set(reason, (cell.refusals.get(reason) ?? 0) + count)
      cell.firstByte.addAll(firstByte)
      cell.duration.addAll(duration)
    }
    this.#accounts.addAll(other.#accounts)
  }

  rows(writer: string): MomentRows {
    this.isChanged = false
    const cells = [...this.#cells].map(([name, { requests, refusals, firstByte, duration }]) => {
      const [model = '', upstream = ''] = name.split(SEPARATOR)
      const spread = { firstByte: firstByte.bytes(), duration: duration.bytes() }
      return { model, upstream, requests, refusals: JSON.stringify(Object.fromEntries(refusals)), ...spread }
    })
    return { writer, step: this.step, at: this.at, cells, accounts: this.#accounts.rows() }
  }

  #cellNamed(name: string): Cell {
    const known = this.#cells.get(name)
    if (known !== undefined) return known
    if (this.#cells.size >= CELLS_MAX && name !== SEPARATOR) return this.#cellNamed(SEPARATOR)
    const cell = newCell()
    this.#cells.set(name, cell)
    return cell
  }
}

/** A character that no name has. */
const SEPARATOR = '\n'
