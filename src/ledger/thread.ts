/**
 * The ledger thread: the one connection that writes, or the one that only checkpoints. `src/main.ts` calls this when it finds itself in a Worker.
 * Rules: ledger.md "One writer"; platform.md "Process".
 */

import { parentPort } from 'node:worker_threads'
import { openDatabase } from '../../db/open.ts'
import { CheckpointConnection } from './checkpointer.ts'
import { CommitLoop, type NumberedTask } from './commit-loop.ts'
import { type NumberedDebit, readDebits } from './debit-records.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import type { FromThread, OpenProblem, ToThread } from './task.ts'

export function runLedgerThread(): void {
  const port = parentPort
  if (port === null) throw new Error('the ledger thread runs in a Worker only')
  const say = (message: FromThread): void => port.postMessage(message)
  let loop: CommitLoop | undefined
  const checkpoints = new CheckpointConnection()
  const obey = (message: ToThread) => {
    switch (message.kind) {
      case 'open': {
        const opened = open(message, say)
        if ('problem' in opened) return say({ kind: 'problem', problem: opened })
        loop = opened.loop
        return say({ kind: 'opened', recovered: opened.recovered })
      }
      case 'tasks':
        return loop?.add([...message.tasks, ...readDebits(message.debits).map(asTask)], message.prices)
      case 'checkpoint':
        checkpoints.run(message.path)
        return say({ kind: 'checkpointed' })
      case 'close':
        checkpoints.close()
        loop?.close()
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

type Opened = Readonly<{ loop: CommitLoop; recovered: number }>

function open(
  { path, create, bootId, now, retryMs }: Extract<ToThread, { kind: 'open' }>,
  say: (message: FromThread) => void,
): Opened | OpenProblem {
  const db = openDatabase(path, create ? 'create' : 'write')
  if ('problem' in db) return db
  const ledger = new SqliteLedger(db, bootId, now)
  const recovered = ledger.recover(now)
  if (typeof recovered === 'number') return { loop: new CommitLoop(ledger, say, retryMs), recovered }
  ledger.close()
  return { problem: 'unwritable', message: `${path}: requests of an earlier run cannot be settled (${recovered.problem})` }
}
