/**
 * The ledger thread: the one connection that writes, or one that only checkpoints, only checks or only reads. A Worker's own file: it
 * begins when it is loaded.
 * Rules: ledger.md "One writer"; platform.md "Process".
 */

import type { Database } from 'bun:sqlite'
import { parentPort } from 'node:worker_threads'
import { damageIn, keepLog, openDatabase, wasLeftOpen } from '../../db/open.ts'
import { CommitLoop, type NumberedTask } from './commit-loop.ts'
import { type NumberedDebit, readDebits } from './debit-records.ts'
import { ReadConnection } from './read-connection.ts'
import { Spill } from './spill.ts'
import { CheckpointConnection } from './sqlite/checkpointer.ts'
import type { FileId } from './sqlite/file-id.ts'
import { changeOf, FileWatch } from './sqlite/file-watch.ts'
import { positionOf } from './sqlite/position.ts'
import { SqliteStore } from './sqlite/store.ts'
import { readWatermark, whatIsMissing } from './sqlite/watermark.ts'
import { takeOver } from './take-over.ts'
import type { FromThread, Opened, OpenProblem, ToThread } from './task.ts'

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the ledger thread runs in a Worker only')
  const say = (message: FromThread): void => port.postMessage(message)
  let writing: Writing | undefined
  const checkpoints = new CheckpointConnection()
  const reads = new ReadConnection((fault) => say({ kind: 'fault', fault }))
  const obey = (message: ToThread) => {
    switch (message.kind) {
      case 'open': {
        const opened = open(message, say)
        if ('problem' in opened) return say({ kind: 'problem', problem: opened })
        writing = opened
        return say({ kind: 'opened', recovered: opened.recovered, wasLeftOpen: opened.wasLeftOpen, replayed: opened.replayed })
      }
      case 'tasks':
        return writing?.loop.add([...message.tasks, ...readDebits(message.debits).map(asTask)], message.prices)
      case 'checkpoint':
        checkpoints.run(message.path)
        return say({ kind: 'checkpointed' })
      case 'check':
        return say({ kind: 'checked', damage: damageIn(message.path) })
      case 'read':
        return say({ kind: 'found', finding: reads.answer(message.path, message.question) })
      case 'sound':
        return writing?.dropLog()
      case 'close':
        checkpoints.close()
        reads.close()
        writing?.close()
        return say({ kind: 'closed' })
    }
  }
  // Ends this thread and nothing else; the gateway starts another.
  const die = (bug: unknown): never => {
    say({ kind: 'fault', fault: { problem: 'ledger thread: it failed by a bug', bug } })
    process.exit(1)
  }
  process.on('uncaughtException', die)
  port.on('message', (message: ToThread) => {
    try {
      obey(message)
    } catch (bug) {
      die(bug)
    }
  })
}

const asTask = ({ number, debit }: NumberedDebit): NumberedTask => ({ number, task: { kind: 'settle', debit } })

type Writing = Opened & Readonly<{ loop: CommitLoop; dropLog: () => void; close: () => void }>

function open(message: Extract<ToThread, { kind: 'open' }>, say: (message: FromThread) => void): Writing | OpenProblem {
  const { path, file, bootId, now, retryMs, spillBytes } = message
  const leftOpen = wasLeftOpen(path)
  const db = openDatabase(path, 'write', (given) => {
    if (leftOpen) keepLog(given, true)
    return problemOfFile(given, path, file)
  })
  if ('problem' in db) return db
  const ledger = new SqliteStore(db, bootId, now)
  const spill = Spill.open(path, ledger, spillBytes)
  if ('problem' in spill) {
    ledger.close()
    return spill
  }
  const left = takeOver(spill, ledger, now)
  if ('kind' in left) {
    spill.close()
    ledger.close()
    return { problem: 'unwritable', message: `${path}: requests of an earlier run cannot be settled (${left.problem})` }
  }
  for (const fault of left.faults) say({ kind: 'fault', fault })
  const loop = new CommitLoop(ledger, spill, say, retryMs)
  if (spillBytes > 0) setImmediate(() => reserve(spill, spillBytes, say))
  const watch = new FileWatch(path, file, ledger, (lost) => say({ kind: 'lost', lost }))
  const close = (): void => {
    watch.close()
    loop.close()
    watch.leaveMark()
  }
  return { loop, recovered: left.recovered, replayed: left.replayed, wasLeftOpen: leftOpen, dropLog: () => keepLog(db, false), close }
}

/** Behind the start: nothing is kept yet. */
function reserve(spill: Spill, bytes: number, say: (message: FromThread) => void): void {
  try {
    spill.reserve(bytes)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    say({ kind: 'fault', fault: { problem: `there is no room for a spill: while the disk is full, answers end in an error (${reason})` } })
  }
}

/** A file that is not the one that is locked, or that has less in it than the last process left. */
function problemOfFile(db: Database, path: string, file: FileId): OpenProblem | undefined {
  const moved = changeOf(path, file)
  if (moved !== undefined) return { problem: 'missing', message: moved }
  const { ledger, rows } = positionOf(db)
  const missing = whatIsMissing(path, readWatermark(path), ledger, file, rows)
  return missing === undefined ? undefined : { problem: 'missing', message: missing }
}

run()
