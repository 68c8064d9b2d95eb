/**
 * Protects ledger.md "Leases", "Twice is once" in what is sent to the thread, and what is made of its death: a lease is moved behind the settles of its turn; what a
 * dead thread may have done comes again before all that is newer, and is never called certain.
 */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import type { Away } from '../../src/ledger/admission/away-ends.ts'
import { enterThread, type ThreadOptions } from '../../src/ledger/admission/thread-handle.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import { Writer } from '../../src/ledger/admission/writer.ts'
import { readDebits } from '../../src/ledger/debit-records.ts'
import type { Answer, Debit } from '../../src/ledger/task.ts'
import type { Committed, FromThread, ToThread } from '../../src/ledger/thread-messages.ts'
import { holdRequest, settlement, usd } from '../support/ledger.ts'

/** A thread that does what the test says. */
class ScriptedThread {
  readonly posted: ToThread[] = []
  readonly #listeners = new Map<string, (event: unknown) => void>()
  /** Its place, or it says that it cannot. */
  readonly #opens: boolean

  constructor(opens: boolean) {
    this.#opens = opens
  }

  addEventListener(name: string, listener: (event: unknown) => void): void {
    this.#listeners.set(name, listener)
  }

  postMessage(message: ToThread): void {
    this.posted.push(message)
    if (message.kind !== 'open') return
    const opened: FromThread = this.#opens
      ? { kind: 'opened', recovered: 0, wasLeftOpen: false, replayed: [] }
      : { kind: 'problem', problem: { problem: 'unwritable', message: 'no room' } }
    queueMicrotask(() => this.#hear(opened))
  }

  terminate(): void {
    this.#listeners.clear()
  }

  answer(...answers: Committed['answers']): void {
    this.#hear({ kind: 'committed', settled: new Float64Array(), answers, changes: [], faults: [], isWritable: true, spillBytes: 0 })
  }

  die(): void {
    this.#listeners.get('close')?.({})
  }

  #hear(data: FromThread): void {
    this.#listeners.get('message')?.({ data })
  }
}

type Starting = Readonly<{ onTakeOver?: (writer: Writer) => void; away?: Away }>

/** A writer, its threads, what it heard, and a request whose settle can be asked for. */
async function startWriter({ onTakeOver = (_: Writer): void => undefined, away }: Starting = {}) {
  const threads: ScriptedThread[] = []
  const heard: (readonly [name: string, answer: Answer, failure: string])[] = []
  const wallets = new Wallets()
  let opens = true
  const options: ThreadOptions = {
    place: () => ({ kind: 'sqlite', path: '/nowhere', file: undefined as never, named: '/nowhere' }),
    bootId: 'boot',
    startThread: () => {
      threads.push(new ScriptedThread(opens))
      return threads.at(-1) as unknown as Worker
    },
    now: () => 0,
    retryMs: 0,
    spillBytes: 0,
    onFault: () => undefined,
  }
  const writer: Writer = new Writer(
    { enter: (listener) => enterThread(options, listener), onFault: options.onFault, ...(away === undefined ? {} : { away }) },
    {
      prices: () => wallets.prices,
      onAnswers: (all) => {
        for (const { task, answer, failure } of all)
          heard.push([task.kind === 'dropCheckpoint' ? task.requestId : task.kind, answer, failure])
      },
      onLeftOpen: () => undefined,
      onReplayed: () => undefined,
      rescueHint: () => '',
      onWalCheckpointDue: () => undefined,
      onTakeOver: () => {
        onTakeOver(writer)
        return Promise.resolve()
      },
    },
  )
  await writer.start()
  const keyBalance = { limitPicos: null, spentPicos: ZERO, balancePicos: usd('10'), lastSyncedAt: 0, toppedUpAt: null }
  const names = { keyId: 'key_1', keyNumber: 1, accountId: 'acc_1', accountNumber: 1 }
  wallets.keys.load({ ...names, ...keyBalance, isActive: true, isAccountActive: true, plan: 'default', expiresAt: null })
  wallets.hold(holdRequest('req_1', 'key_1', usd('0.01')), 0)
  const debit: Debit | undefined = wallets.settle(settlement('req_1'))
  if (debit === undefined) throw new Error('not held')
  return {
    writer,
    threads,
    heard,
    debit,
    /** The simplest of writes, by its name. */
    write: (requestId: string) => writer.ask({ kind: 'dropCheckpoint', requestId }),
    allowNoThread: () => {
      opens = false
    },
  }
}

/** Message by message, in the order in which the thread does it. */
const tasksOf = (thread: ScriptedThread | undefined): (readonly string[])[] =>
  (thread?.posted ?? []).flatMap((message) =>
    message.kind === 'tasks'
      ? [
          [
            ...message.tasks.map(({ task }) => (task.kind === 'dropCheckpoint' ? task.requestId : task.kind)),
            ...readDebits(message.debits).map(() => 'settle'),
          ],
        ]
      : [],
  )

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what is asked of leases in a turn stands in a message behind that of the settles, also where it was asked before them', async () => {
  const { writer, threads, debit } = await startWriter()
  const move = { number: 1, accountNumber: 1, accountRunsPicos: ZERO, keyNumber: 1, keyRunsPicos: ZERO }
  const sent = [
    writer.ask({ kind: 'ask', ask: { ...move, amountPicos: picos(1n) } }),
    writer.ask({ kind: 'release', release: { ...move, number: 2 } }),
    writer.ask({ kind: 'settle', debit }),
    writer.ask({ kind: 'keyStates', keyIds: ['key_1'] }),
  ]
  await turn()
  expect(tasksOf(threads[0])).toEqual([
    ['keyStates', 'settle'],
    ['ask', 'release'],
  ])
  expect(sent).toHaveLength(4)
})

test('what a dead thread was asked comes again before what is newer, and what is asked of the takeover in a message behind it', async () => {
  const { writer, threads, debit, write } = await startWriter({
    onTakeOver: (taken) => void taken.ask({ kind: 'dropCheckpoint', requestId: 'of the takeover' }),
  })
  const sent = [write('old'), writer.ask({ kind: 'settle', debit })]
  await turn()
  threads[0]?.die()
  sent.push(write('new'))
  await turn()
  await turn()
  expect(threads.map(tasksOf)).toEqual([[['old', 'settle']], [['old', 'new', 'settle'], ['of the takeover']]])
  expect(sent).toHaveLength(3)
})

test('a failure is certain where no thread but the one that answers had the task, and indeterminate where another may have done it', async () => {
  const { writer, threads, heard, write, allowNoThread } = await startWriter()
  const first = [write('of two threads')]
  await turn()
  threads[0]?.die()
  first.push(write('of one'))
  await turn()
  threads[1]?.answer({ number: 1, answer: 'unavailable' }, { number: 2, answer: 'unavailable' })
  expect(heard.splice(0)).toEqual([
    ['of two threads', 'unavailable', 'indeterminate'],
    ['of one', 'unavailable', 'certain'],
  ])
  first.push(write('sent'))
  await turn()
  allowNoThread()
  threads[1]?.die()
  first.push(write('not sent'))
  await writer.close(() => Promise.resolve())
  expect(heard).toEqual([
    ['sent', 'unavailable', 'indeterminate'],
    ['not sent', 'unavailable', 'certain'],
  ])
  expect(await Promise.all(first)).toEqual(Array(4).fill('unavailable'))
})

test('a task that three threads died with is given to no fourth, and is indeterminate; a younger one is', async () => {
  const { threads, heard, write } = await startWriter()
  const deadly = write('deadly')
  await turn()
  threads[0]?.die()
  const young = write('young')
  await turn()
  for (const at of [1, 2]) {
    threads[at]?.die()
    await turn()
  }
  expect(threads.map(tasksOf)).toEqual([[['deadly']], [['deadly', 'young']], [['deadly', 'young']], [['young']]])
  expect([await deadly, heard]).toEqual(['unavailable', [['deadly', 'unavailable', 'indeterminate']]])
  threads[3]?.answer({ number: 2, answer: 'absent' })
  expect(await young).toBe('absent')
})

test('a writer that is lost while it closes has its ends kept before what is left is refused', async () => {
  const kept: string[] = []
  const away: Away = { afterMs: 1_000_000, keep: (tasks) => kept.push(...tasks.map(({ kind }) => kind)) > 0 }
  const { writer, threads, heard, debit, write } = await startWriter({ away })
  const settled = writer.ask({ kind: 'settle', debit })
  const written = write('req_2')
  const closed = writer.close(() => Promise.resolve())
  while (threads[0]?.posted.at(-1)?.kind !== 'close') await turn()
  threads[0]?.die()
  await closed
  expect([kept, await settled, await written]).toEqual([['settle'], 'spilled', 'unavailable'])
  expect(heard.map(([name]) => name)).toEqual(['settle', 'req_2'])
})
