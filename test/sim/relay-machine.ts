/**
 * The machine of a simulated world of relays: a ledger process and its relays, the wires between them, their storage and the power. Each of them fails, ends and comes again when it is told. Rules:
 * processes.md "Relays", "Death".
 */

import type { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keptForRelays } from '../../src/answers-beside.ts'
import type { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import type { BudgetsOfPlan } from '../../src/ledger/admission/wallet-budgets.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { must } from './books.ts'
import { pick } from './draw.ts'
import { FileGround } from './file-ground.ts'
import type { Fault } from './ground.ts'
import { LedgerProcess } from './ledger-process.ts'
import type { Receipts } from './relay-books.ts'
import { RelayProcess } from './relay-process.ts'
import type { RepeatedStreams } from './repeated-streams.ts'
import type { Around } from './stream-parts.ts'
import { settleTurn } from './virtual-time.ts'
import type { Wire } from './wire.ts'

export const RELAYS = 3

/** `streams`: what runs at the relays apart from plain requests. */
type Parts = Around & Readonly<{ streams: RepeatedStreams; budgetsOf: BudgetsOfPlan }>

export class RelayMachine {
  readonly #parts: Parts
  readonly #folder = mkdtempSync(join(tmpdir(), 'tollgate-relays-'))
  readonly #ground: FileGround
  readonly #wires = new Set<Wire>()
  #alive: readonly RelayProcess[] = []
  #process: LedgerProcess | undefined
  #pids = 100
  #boots = 0
  #fault: Fault = 'none'
  /** Whether the spill of the ledger process takes nothing, and whether those of relays do not. */
  #failing = { own: false, relays: false }
  #mayBeSpilled = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#ground = new FileGround(this.#folder, parts.time.now)
  }

  /** Its relays that live. */
  get alive(): readonly RelayProcess[] {
    return this.#alive
  }

  get process(): LedgerProcess | undefined {
    return this.#process
  }

  get fault(): Fault {
    return this.#fault
  }

  /** Whether ends may be in a spill that is not in the ledger yet. */
  get mayBeSpilled(): boolean {
    return this.#mayBeSpilled
  }

  close(): void {
    for (const relay of this.#alive) relay.die()
    this.#process?.die()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  // What goes on.

  async deliver(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.#deliver()
      if (this.#parts.random() < 0.7) this.#process?.runThread()
      await settleTurn()
    }
  }

  async tick(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.#runTimer()
      if (this.#parts.random() < 0.5) this.#process?.runThread()
      await settleTurn()
    }
  }

  /** Until nothing is under way. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 400; turn++) {
      this.#deliver()
      this.#process?.runThread()
      if (turn % 4 === 0) this.#runTimer()
      await settleTurn()
    }
  }

  async operate(operation: Operation): Promise<void> {
    let isDone = false
    this.#process?.ledger.operate(operation).then(
      ({ result }) => {
        isDone = result === 'done'
      },
      () => undefined,
    )
    for (let turn = 0; turn < 60 && !isDone; turn++) {
      this.#process?.runThread()
      this.#parts.time.runNext()
      await settleTurn()
    }
    must('what an operator may do is done', isDone, () => operation.kind)
  }

  #deliver(): void {
    pick(
      this.#parts.random,
      [...this.#wires].filter(({ isBusy }) => isBusy),
    )?.deliver(this.#parts.random)
    for (const wire of this.#wires) if (wire.isOver) this.#wires.delete(wire)
  }

  #runTimer(): void {
    this.#parts.time.runNext()
    this.#parts.streams.turn()
  }

  // What comes.

  async begin(): Promise<void> {
    const { time } = this.#parts
    const process = new LedgerProcess({
      ...{ time, ground: this.#ground, bootId: `boot-${++this.#boots}`, retryMs: 120, spillBytes: 16 * 1024 },
      storage: () => ({ fault: this.#fault, spill: this.#failing.own ? 'fails' : 'works' }),
      kept: keptForRelays(() => undefined, time.now),
      expected: this.#alive.map(({ pid }) => pid),
      beginningOf: (pid) => (this.#alive.some((relay) => relay.pid === pid) ? 'alive' : undefined),
    })
    this.#process = process
    await this.#open(process.ledger)
  }

  async #open(ledger: GroupCommit): Promise<void> {
    const opening = ledger.start()
    let opened: unknown
    opening.then(
      (said) => {
        opened = said
      },
      () => undefined,
    )
    for (let turn = 0; turn < 40 && opened === undefined; turn++) {
      this.#process?.runThread()
      await settleTurn()
    }
    const isOpen = typeof opened === 'object' && opened !== null && 'recovered' in opened
    must('a ledger opens after any death', isOpen || this.#fault !== 'none', () => JSON.stringify(opened))
    if (isOpen) return
    this.#parts.meet('the ledger process cannot begin')
    this.#endProcess()
  }

  beginRelay(): void {
    const { time, meet, streams, budgetsOf } = this.#parts
    const relay: RelayProcess = new RelayProcess({
      ...{ pid: ++this.#pids, path: this.#ground.place().path, now: time.now, budgetsOf },
      process: () => this.#process,
      isSpillSound: () => !this.#failing.relays,
      onWire: (wire) => void this.#wires.add(wire),
      onFenced: () => {
        meet('a relay is fenced')
        this.#end(relay)
      },
      onFault: (problem) => {
        if (!problem.includes('keeps the ends of requests')) return
        this.#mayBeSpilled = true
        meet('a relay keeps ends')
      },
    })
    this.#alive = [...this.#alive, relay]
    streams.serve(relay, relay.opened)
    relay.begin()
  }

  // What fails and ends.

  cut(): void {
    const wire = pick(
      this.#parts.random,
      [...this.#wires].filter(({ isCut }) => !isCut),
    )
    if (wire === undefined) return
    this.#parts.meet('a wire is cut')
    wire.cut()
  }

  killRelay(): void {
    const { random, meet, log } = this.#parts
    const relay = pick(random, this.#alive)
    if (relay === undefined) return
    meet('a relay dies')
    log.push(`${relay.pid} dies`)
    this.#end(relay)
  }

  /** Another one is begun in its place. */
  #end(relay: RelayProcess): void {
    this.#alive = this.#alive.filter((one) => one !== relay)
    relay.die()
    this.#parts.streams.died(relay)
    this.beginRelay()
  }

  async killProcess(): Promise<void> {
    this.#parts.meet('the ledger process dies')
    this.#endProcess()
    // What the relays end meanwhile goes into spills of their own, unless it is back soon.
    this.#mayBeSpilled = true
    this.meetFault('none')
    if (this.#parts.random() < 0.6) await this.begin()
  }

  #endProcess(): void {
    this.#process?.die()
    this.#process = undefined
    for (const wire of this.#wires) wire.cut()
  }

  meetFault(fault: Fault): void {
    if (fault === this.#fault) return
    if (fault !== 'none') this.#parts.meet(`the storage is ${fault}`)
    this.#fault = fault
    this.#mayBeSpilled = true
    this.#process?.meetStorage()
  }

  failSpills(): void {
    const { random, meet } = this.#parts
    this.#failing = { own: random() < 0.5, relays: random() < 0.7 }
    if (this.#failing.relays) meet('a spill fails')
  }

  mendSpills(): void {
    this.#failing = { own: false, relays: false }
  }

  /** All processes end at once, and what was not flushed is lost. */
  async losePower(): Promise<void> {
    const { meet, random, streams } = this.#parts
    meet('the power goes')
    const flushedBytes = this.#process?.flushedBytes
    this.#endProcess()
    const dead = this.#alive
    this.#alive = []
    for (const relay of dead) relay.loseThePower()
    for (const relay of dead) streams.died(relay)
    this.#ground.end('power loss', (flushed, bytes) => flushed + Math.floor(random() * (bytes - flushed)), flushedBytes)
    this.#mayBeSpilled = true
    this.meetFault('none')
    await this.begin()
    for (let n = 0; n < RELAYS; n++) this.beginRelay()
  }

  /** All that failed works again, until every relay may admit. */
  async mend(): Promise<void> {
    this.meetFault('none')
    this.mendSpills()
    if (this.#process === undefined) await this.begin()
    const areAllIn = (): boolean => this.#alive.every(({ ledger }) => ledger.mayAdmit())
    for (let round = 0; round < 6 || (round < 40 && !areAllIn()); round++) await this.quiet()
    this.#mayBeSpilled = false
  }

  // What is on the disk.

  receipts(): Receipts {
    const db = this.#ground.read() as Database
    try {
      const rows = db.query<{ id: string; cost: bigint }, []>('SELECT request_id AS id, cost_picos AS cost FROM receipts').all()
      return new Map(rows.map(({ id, cost }) => [id, cost]))
    } finally {
      db.close()
    }
  }

  differences(): ReturnType<typeof differencesInFile> {
    const db = this.#ground.read() as Database
    try {
      return differencesInFile(db)
    } finally {
      db.close()
    }
  }
}
