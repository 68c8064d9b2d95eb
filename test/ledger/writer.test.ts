/** Protects ledger.md "Leases" in what is sent to the thread: a lease is moved behind the settles of its turn. */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import { readDebits } from '../../src/ledger/debit-records.ts'
import type { ToThread } from '../../src/ledger/task.ts'
import { Wallets } from '../../src/ledger/wallets.ts'
import { Writer } from '../../src/ledger/writer.ts'
import { holdRequest, settlement, usd } from '../support/ledger.ts'

/** A thread that opens its place and answers nothing more. */
function silentThread(posted: ToThread[]): Worker {
  const listeners = new Map<string, (event: unknown) => void>()
  const thread = {
    addEventListener: (name: string, listener: (event: unknown) => void) => void listeners.set(name, listener),
    postMessage: (message: ToThread) => {
      posted.push(message)
      if (message.kind !== 'open') return
      queueMicrotask(() => listeners.get('message')?.({ data: { kind: 'opened', recovered: 0, wasLeftOpen: false, replayed: [] } }))
    },
    terminate: () => undefined,
  }
  return thread as unknown as Worker
}

test('what is asked of leases in a turn stands in a message behind that of the settles, also where it was asked before them', async () => {
  const posted: ToThread[] = []
  const wallets = new Wallets()
  const writer = new Writer(
    {
      place: () => ({ kind: 'sqlite', path: '/nowhere', file: undefined as never, named: '/nowhere' }),
      bootId: 'boot',
      startThread: () => silentThread(posted),
      now: () => 0,
      retryMs: 0,
      spillBytes: 0,
      onFault: () => undefined,
    },
    {
      prices: () => wallets.prices,
      onAnswers: () => undefined,
      onLeftOpen: () => undefined,
      onReplayed: () => undefined,
      rescueHint: () => '',
      onCheckpointDue: () => undefined,
      onTakeOver: () => undefined,
    },
  )
  await writer.start()
  const purse = { limitPicos: null, spentPicos: ZERO, balancePicos: usd('10'), lastSyncedAt: 0, toppedUpAt: null }
  const names = { keyId: 'key_1', keyNumber: 1, accountId: 'acc_1', accountNumber: 1 }
  wallets.keys.load({ ...names, ...purse, isActive: true, isAccountActive: true, expiresAt: null })
  wallets.hold(holdRequest('req_1', 'key_1', usd('0.01')), 0)
  const debit = wallets.settle(settlement('req_1'))
  if (debit === undefined) throw new Error('not held')
  const move = { number: 1, accountNumber: 1, accountRunsPicos: ZERO, keyNumber: 1, keyRunsPicos: ZERO }
  const sent = [
    writer.ask({ kind: 'ask', ask: { ...move, amountPicos: picos(1n) } }),
    writer.ask({ kind: 'release', release: { ...move, number: 2 } }),
    writer.ask({ kind: 'settle', debit }),
    writer.ask({ kind: 'keyStates', keyIds: ['key_1'] }),
  ]
  await new Promise(setImmediate)
  const inOrder = posted.flatMap((message) =>
    message.kind === 'tasks' ? [[...message.tasks.map(({ task }) => task.kind), ...readDebits(message.debits).map(() => 'settle')]] : [],
  )
  expect(inOrder).toEqual([
    ['keyStates', 'settle'],
    ['ask', 'release'],
  ])
  expect(sent).toHaveLength(4)
})
