/**
 * The ledger thread: the one connection that writes, or one that only checkpoints, only checks or only reads. A Worker's own file: it
 * begins when it is loaded.
 * Rules: ledger.md "One writer"; platform.md "Process".
 */

import { parentPort } from 'node:worker_threads'
import { damageIn, keepLog, openDatabase, wasLeftOpen } from '../../db/open.ts'
import { CheckpointConnection } from './checkpointer.ts'
import { CommitLoop, type NumberedTask } from './commit-loop.ts'
import { type NumberedDebit, readDebits } from './debit-records.ts'
import { ReadConnection } from './read-connection.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
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
        return say({ kind: 'opened', recovered: opened.recovered, wasLeftOpen: opened.wasLeftOpen })
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
        writing?.loop.close()
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

type Writing = Opened & Readonly<{ loop: CommitLoop; dropLog: () => void }>

function open(
  { path, bootId, now, retryMs }: Extract<ToThread, { kind: 'open' }>,
  say: (message: FromThread) => void,
): Writing | OpenProblem {
  const leftOpen = wasLeftOpen(path)
  const db = openDatabase(path, 'write')
  if ('problem' in db) return db
  if (leftOpen) keepLog(db, true)
  const ledger = new SqliteLedger(db, bootId, now)
  const recovered = ledger.recover(now)
  if (typeof recovered === 'number')
    return { loop: new CommitLoop(ledger, say, retryMs), recovered, wasLeftOpen: leftOpen, dropLog: () => keepLog(db, false) }
  ledger.close()
  return { problem: 'unwritable', message: `${path}: requests of an earlier run cannot be settled (${recovered.problem})` }
}

run()
