/**
 * The ledger thread: the one connection that writes, or one that only checkpoints, only checks, only verifies or only reads. A Worker's own file: it
 * begins when it is loaded.
 * Rules: ledger.md "One writer"; platform.md "Process".
 */

import { parentPort } from 'node:worker_threads'
import { damageIn } from '../../db/open.ts'
import { readDebits } from './debit-records.ts'
import { openForReading, readProblem } from './open-for-reading.ts'
import { type Place, placeText } from './place.ts'
import { nodesOf } from './postgres/nodes-report.ts'
import { openStore as openPostgres } from './postgres/open-store.ts'
import { differencesInDatabase } from './postgres/verify.ts'
import { ReadConnection } from './reading/read-connection.ts'
import type { FromReader, ToReader } from './reading/reports.ts'
import type { FromVerifier, ToVerifier } from './reading/verifier.ts'
import { openStore as openFile } from './sqlite/open-store.ts'
import { differencesInFile } from './sqlite/verify.ts'
import { WalCheckpointConnection } from './sqlite/wal-checkpointer.ts'
import type { FromThread, Opened, OpenProblem, TellMigration, ToThread } from './thread-messages.ts'
import { CommitLoop } from './writing/commit-loop.ts'
import { takeOver } from './writing/recovery.ts'
import { RelayDesk } from './writing/relay-desk.ts'
import { RelaySpills } from './writing/relay-spills.ts'
import { Spill } from './writing/spill.ts'
import type { OpenedStore, Store } from './writing/store.ts'
import { WorkBehind } from './writing/work-behind.ts'

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the ledger thread runs in a Worker only')
  const say = (message: FromThread | FromReader | FromVerifier): void => port.postMessage(message)
  let writing: Writing | undefined
  const checkpoints = new WalCheckpointConnection()
  const reads = new ReadConnection(
    (place) => openForReading({ ...place, startSyncDriver }, true),
    (fault) => say({ kind: 'fault', fault }),
    nodesOf,
  )
  const obey = (message: ToThread | ToReader | ToVerifier) => {
    switch (message.kind) {
      case 'open': {
        const opened = open(message, say)
        if ('problem' in opened) return say({ kind: 'problem', problem: opened })
        writing = opened
        return say({ kind: 'opened', recovered: opened.recovered, wasLeftOpen: opened.wasLeftOpen, replayed: opened.replayed })
      }
      case 'tasks':
        return writing?.desk.add(message.from, message, readDebits(message.debits))
      case 'relayJoins':
      case 'relayGoes':
      case 'relaysKnown':
        return writing?.desk.obey(message)
      case 'walCheckpoint':
        checkpoints.run(message.path)
        return say({ kind: 'walCheckpointed' })
      case 'check':
        return say({ kind: 'checked', damage: damageIn(message.path) })
      case 'verify':
        return verify(message.place, say)
      case 'read':
        return say({ kind: 'found', finding: reads.answer(message.place, message.question) })
      case 'sound':
        return writing?.opened.onSound()
      case 'walCheckpointed':
        return writing?.opened.onWalCheckpointed()
      case 'node':
        return writing?.opened.onNode(message.identity)
      case 'lookOver':
        return writing?.loop.lookOver()
      case 'takeOver':
        return writing && waiveLeft(writing.opened.store, say)
      case 'close':
        checkpoints.close()
        reads.close()
        writing?.close()
        return say({ kind: 'closed' })
    }
  }
  // Ends only this thread; the gateway starts another.
  const die = (bug: unknown): never => {
    say({ kind: 'fault', fault: { problem: 'ledger thread: it failed by a bug', bug } })
    process.exit(1)
  }
  process.on('uncaughtException', die)
  port.on('message', (message: ToThread | ToReader | ToVerifier) => {
    try {
      obey(message)
    } catch (bug) {
      die(bug)
    }
  })
}

/** Its URL is found from here also in a compiled binary, where this file stands as it does among the sources. */
const startSyncDriver = (): Worker => new Worker(new URL('./postgres/sync-driver.ts', import.meta.url))

/** How long a statement may take: one statement looks at every row. */
const VERIFY_STATEMENT_MS = 600_000

function verify(place: Place, say: (message: FromVerifier) => void): void {
  const db = openForReading({ ...place, startSyncDriver, statementMs: VERIFY_STATEMENT_MS })
  if ('problem' in db) {
    say({ kind: 'unverified', problem: db.message })
    return
  }
  try {
    const of = place.kind === 'sqlite' ? differencesInFile : differencesInDatabase
    say({ kind: 'verified', found: of(db, (progress) => say({ kind: 'verifying', progress })) })
  } catch (error) {
    say({ kind: 'unverified', problem: readProblem(error, place).message })
  } finally {
    db.close()
  }
}

type Writing = Opened & Readonly<{ loop: CommitLoop; desk: RelayDesk; opened: OpenedStore; close: () => void }>

function open(message: Extract<ToThread, { kind: 'open' }>, say: (message: FromThread) => void): Writing | OpenProblem {
  const { place, now, retryMs, spillBytes, keepsInFlight = false } = message
  const opened = openStoreAt(message, (notice) => say({ kind: 'migrating', ...notice }))
  if ('problem' in opened) return opened
  const { store, wasLeftOpen } = opened
  const spill = Spill.open(opened.spills.own, store, spillBytes)
  if ('problem' in spill) {
    store.close()
    return spill
  }
  if (keepsInFlight) store.relays?.setGranting(false)
  const spills = new RelaySpills(opened.spills.own, store, (fault) => say({ kind: 'fault', fault }))
  const recovery = spills.recovery(store, keepsInFlight)
  const left = takeOver([spill, ...leftSpills(opened)], recovery, now, (step) => say({ kind: 'opening', step }))
  if ('kind' in left) {
    spill.close()
    store.close()
    return { problem: 'unwritable', message: `${placeText(place)}: requests of an earlier run cannot be settled (${left.problem})` }
  }
  for (const fault of left.faults) say({ kind: 'fault', fault })
  const loop = new CommitLoop(store, spill, say, retryMs)
  const desk = new RelayDesk({ store, loop, spills, say, now: Date.now })
  if (spillBytes > 0) setImmediate(() => reserve(spill, spillBytes, say))
  opened.begin({ tellLoss: (loss) => say({ kind: 'lost', loss }), walCheckpoint: () => say({ kind: 'walCheckpointDue' }) })
  const behind = new WorkBehind(store, (fault) => say({ kind: 'fault', fault }))
  const close = (): void => {
    behind.stop()
    opened.end()
    desk.stop()
    loop.close()
    opened.afterClose()
  }
  return { loop, desk, recovered: left.recovered, replayed: left.replayed, wasLeftOpen, opened, close }
}

/** Waives what nodes that are gone left in flight. What cannot be waived now is found again by the node's next renewal. */
function waiveLeft(store: Store, say: (message: FromThread) => void): void {
  const recovered = store.recover(Date.now())
  if (typeof recovered !== 'number' || recovered === 0) return
  say({
    kind: 'fault',
    fault: { kind: 'node', problem: `${recovered} requests that a node left in flight were waived: it is gone, or lost its lane` },
  })
}

/** Opens the spills that dead processes left. A spill that cannot be read stays as it is, for the operator to look at. */
const leftSpills = ({ spills, store }: OpenedStore): readonly Spill[] =>
  spills.left.map((path) => Spill.open(path, store, 0)).filter((spill) => spill instanceof Spill)

/** Opens the store for writing. A ledger on Postgres was migrated before. */
function openStoreAt(message: Extract<ToThread, { kind: 'open' }>, tell: TellMigration): OpenedStore | OpenProblem {
  const { place, bootId, now, migrates } = message
  if (place.kind === 'postgres') return openPostgres({ ...place, startSyncDriver })
  return openFile(place, { bootId, now, tell: migrates ? tell : undefined })
}

/** Reserves the room of the spill after the start, when nothing is kept in it yet. */
function reserve(spill: Spill, bytes: number, say: (message: FromThread) => void): void {
  try {
    spill.reserve(bytes)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    say({ kind: 'fault', fault: { problem: `there is no room for a spill: while the disk is full, answers end in an error (${reason})` } })
  }
}

run()
