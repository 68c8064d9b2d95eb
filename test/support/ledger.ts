/** Ledgers for tests: temporary files, the state machine without a thread, the whole ledger with one, and the requests and operations that they are fed. */

import type { Database } from 'bun:sqlite'
import { afterAll } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { availableOf, displayOf, makeSecret } from '../../src/core/key.ts'
import { type Picos, parseUsd, picos, ZERO } from '../../src/core/money.ts'
import { costOf, type Rates } from '../../src/core/pricing.ts'
import { NO_USAGE, type Usage } from '../../src/core/usage.ts'
import type { BudgetsOfPlan } from '../../src/ledger/admission/wallet-budgets.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { Difference } from '../../src/ledger/chain/difference.ts'
import type { KeyState } from '../../src/ledger/key-state.ts'
import type { Attempt, HoldAnswer, HoldRequest, KeyChange, Ledger, Progress, Settlement } from '../../src/ledger/ledger.ts'
import type { LedgerOptions } from '../../src/ledger/open-options.ts'
import type { Act, Operation } from '../../src/ledger/operation.ts'
import { CustomerReads } from '../../src/ledger/reading/customer-reads.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import type { Task } from '../../src/ledger/task.ts'
import type { LedgerFault } from '../../src/ledger/thread-messages.ts'
import type { Store } from '../../src/ledger/writing/store.ts'
import { makeAddress } from './store-choice.ts'
import { openStore, openToRead } from './stores.ts'
import { startThread } from './threads.ts'

/** 2027-01-15T08:00:00Z */
export const NOW = 1_800_000_000_000

/** 3, 15, 0.30, 3.75, 6 USD per 1M tokens and a cent a tool use. */
export const RATES: Rates = {
  input: picos(3_000_000n),
  output: picos(15_000_000n),
  cacheRead: picos(300_000n),
  cacheWrite5m: picos(3_750_000n),
  cacheWrite1h: picos(6_000_000n),
  serverToolUse: picos(10_000_000_000n),
}

/** A new folder that goes when the test, or the file that made it outside a test, has ended. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Of a new file, or the address of a new database where the tests are those of Postgres. */
export const makePath = (): string => makeAddress() ?? join(makeFolder(), 'ledger.db')

export function usd(text: string): Picos {
  const amount = parseUsd(text)
  if (amount === undefined) throw new Error(`not an amount: ${text}`)
  return amount
}

/** The answer as one word, or as the window that is used up. */
export const answerText = (answer: HoldAnswer | 'unknown'): string => (typeof answer === 'object' ? `used up: ${answer.per}` : answer)

export type TestLedger = Readonly<{ ledger: Ledger; recovered: number; path: string; faults: string[] }>

/** The whole ledger with its thread. Throws the problem's message when there is one. */
export async function openTestLedger(options: Partial<LedgerOptions & Readonly<{ path: string }>> = {}): Promise<TestLedger> {
  const faults: string[] = []
  const path = options.path ?? makePath()
  const opened = await openLedger({
    create: true,
    bootId: 'boot-1',
    startThread,
    now: () => NOW,
    onFault: ({ problem }) => faults.push(problem),
    ...options,
    path,
  })
  if ('problem' in opened) throw new Error(`${opened.problem}: ${opened.message}`)
  return { ...opened, path, faults }
}

/** What the whole ledger is asked, as data. */
export type Ask =
  | Readonly<{ kind: 'hold'; request: HoldRequest }>
  /** Leaves a checkpoint also of requests that are younger than a second: of all that are held. */
  | Readonly<{ kind: 'checkpoint'; requestId: string; progress: Progress; now: number }>
  | Readonly<{ kind: 'settle'; settlement: Settlement }>
  | Readonly<{ kind: 'void'; requestId: string; attempts?: readonly Attempt[] }>
  | Extract<Task, { kind: 'operate' | 'findKey' | 'findIdempotency' }>

/** Wallets and the state machine on a connection of its own, without thread or lock. */
export type Machine = Readonly<{
  ledger: Store
  wallets: Wallets
  db: Database
  ask(asked: Ask): unknown
  /** The writes among them in one transaction, after what is asked of the memory. */
  askAll(...asked: readonly Ask[]): readonly unknown[]
  /** The same, with the faults and changes. Throws when the storage fails. */
  commit(...asked: readonly Ask[]): Readonly<{ answers: readonly unknown[]; faults: readonly LedgerFault[]; changes: readonly KeyChange[] }>
  /** Rows as wallets are made of them. */
  statesOf(...keyIds: readonly string[]): readonly KeyState[]
  differences(): readonly Difference[]
  close(): void
}>

/** `path`: or the address of a database. `beside`: other boots go on writing, as nodes do. */
export function openMachine(path: string = makePath(), bootId = 'boot-1', beside = false, budgetsOf?: BudgetsOfPlan): Machine {
  const { store: ledger, db, differences } = openStore(path, bootId, NOW, beside)
  const wallets = new Wallets(undefined, undefined, budgetsOf)
  let told = 0
  const apply = (tasks: readonly Task[]) => {
    ledger.define(wallets.prices.slice(told))
    told = wallets.prices.length
    const applied = ledger.apply(tasks)
    if (applied.kind === 'failed') throw new Error(applied.problem)
    return applied
  }
  const statesAt = (keyIds: readonly string[], time: { now?: number; hour?: number }) =>
    apply([{ kind: 'keyStates', keyIds, ...time }]).answers[0] as readonly KeyState[]
  const statesOf = (...keyIds: readonly string[]) => statesAt(keyIds, {})
  const hold = (request: HoldRequest): unknown => {
    // As group-commit.ts does it.
    for (let reads = 0; reads < 3; reads++) {
      const answer = wallets.hold(request, 0)
      if (answer !== 'unknown' || reads === 2) return answer === 'unknown' ? 'disabled' : answer
      const states = statesAt([request.keyId], { now: request.now, hour: wallets.hourAt(request.now, 0) })
      wallets.keys.resync(states)
      for (const state of states) wallets.keys.load(state)
    }
    return 'disabled'
  }
  const commit: Machine['commit'] = (...asked) => {
    const answers: unknown[] = []
    const tasks: { task: Task; index: number }[] = []
    const send = (index: number, ...sent: readonly Task[]) => tasks.push(...sent.map((task) => ({ task, index })))
    asked.forEach((ask, index) => {
      switch (ask.kind) {
        case 'hold':
          answers[index] = hold(ask.request)
          return
        case 'checkpoint': {
          const { requestId, now } = ask
          const checkpoint = wallets.checkpoint(requestId, ask.progress)
          const checkpoints = [...wallets.due(Number.POSITIVE_INFINITY), ...(checkpoint === undefined ? [] : [checkpoint])]
          answers[index] = 'checkpointed'
          send(index, ...checkpoints.map((row) => ({ kind: 'checkpoint', checkpoint: row, now }) as const))
          return
        }
        case 'settle': {
          const debit = wallets.settle(ask.settlement)
          if (debit === undefined) answers[index] = 'already'
          else send(index, { kind: 'settle', debit })
          return
        }
        case 'void': {
          const voided = wallets.void(ask.requestId, ask.attempts)
          answers[index] = voided === undefined ? 'already' : 'voided'
          if (voided?.hasCheckpoint) send(index, { kind: 'dropCheckpoint', requestId: ask.requestId })
          if (voided !== undefined && ask.attempts !== undefined) {
            send(index, { kind: 'attempts', calls: voided.calls })
          }
          return
        }
        default:
          send(index, ask)
      }
    })
    const applied = apply(tasks.map(({ task }) => task))
    const reread = new Set<string>()
    tasks.forEach(({ task, index }, place) => {
      const answer = applied.answers[place]
      if (task.kind === 'settle') {
        const { requestId } = task.debit
        const keyId = wallets.settlingKeyOf(requestId)
        if (answer === 'unavailable') wallets.putBack(requestId)
        else wallets.settled(requestId)
        if (answer !== 'unavailable' && answer !== 'settled' && keyId !== undefined) reread.add(keyId)
      }
      if (task.kind === 'operate' && typeof answer === 'object' && 'isNew' in answer) {
        wallets.keys.apply(task.operation, answer.isNew, answer.redeemedPicos, answer.inForcePicos)
        const { isNew: _, inForcePicos: _budget, ...done } = answer
        answers[index] = done
      } else if (task.kind === 'findKey') answers[index] = typeof answer === 'object' && 'record' in answer ? answer.record : answer
      else if (task.kind !== 'dropCheckpoint' && task.kind !== 'attempts') answers[index] = answer
    })
    // As wallet-sync.ts learns it, behind all answers: what a receipt took that was there before is in the rows.
    if (reread.size > 0) wallets.keys.resync(statesOf(...reread))
    return { answers, faults: applied.faults, changes: applied.changes }
  }
  return {
    ledger,
    wallets,
    db,
    commit,
    askAll: (...asked) => commit(...asked).answers,
    ask: (asked) => commit(asked).answers[0],
    statesOf,
    differences,
    close: () => ledger.close(),
  }
}

/** What the file says of a key, whoever has it open. Undefined: there is no such key. */
export function balanceAt(path: string, keyId: string): Readonly<{ availablePicos: Picos; lastSyncedAt: number }> | undefined {
  const db = openToRead(path)
  try {
    const key = new CustomerReads(db).key({ kind: 'key', keyId })
    return key && { availablePicos: availableOf(key), lastSyncedAt: Math.max(key.lastSyncedAt, key.toppedUpAt ?? 0) }
  } finally {
    db.close()
  }
}

type CreateKey = Extract<Operation, { kind: 'createKey' }>

/** A key with an account of its own, `acc_` + the same suffix, funded with `usd` dollars. */
export function createKey(keyId: string, { balanceUsd, ...more }: Partial<CreateKey> & { balanceUsd?: string } = {}): CreateKey {
  const topUp = balanceUsd === undefined ? null : { creditId: `top_${keyId}`, amountPicos: usd(balanceUsd), ref: '' }
  return {
    kind: 'createKey',
    keyId,
    secretHash: sha256(keyId),
    display: 'sk-…test',
    name: '',
    accountId: null,
    ownAccountId: keyId.replace('key_', 'acc_'),
    plan: 'default',
    limitPicos: null,
    expiresAt: null,
    topUp,
    now: NOW,
    ...more,
  }
}

/** Puts a new key with a real secret into the ledger. */
export async function addKey(ledger: Ledger, keyId: string, more: Parameters<typeof createKey>[1] = {}): Promise<string> {
  const secret = makeSecret(() => randomBytes(64))
  const result = await ledger.operate(createKey(keyId, { secretHash: sha256(secret), display: displayOf(secret), ...more }))
  if (result.result !== 'done') throw new Error(JSON.stringify(result))
  return secret
}

export const sha256 = (text: string): Uint8Array => new Uint8Array(createHash('sha256').update(text).digest())

/** One object for every request, as a configuration's is: the look-up of a price is by identity first. */
const NO_LEVELS: HoldRequest['levels'] = []
export const holdRequest = (requestId: string, keyId: string, amountPicos: Picos, more: Partial<HoldRequest> = {}): HoldRequest => ({
  requestId,
  keyId,
  modelId: 'sample-large',
  format: 'messages',
  isStream: true,
  rates: RATES,
  levels: NO_LEVELS,
  amountPicos,
  now: NOW,
  ...more,
})

export const settlement = (requestId: string, usage: Partial<Usage> = {}, more: Partial<Settlement> = {}): Settlement => {
  const whole = { ...NO_USAGE, ...usage }
  return {
    requestId,
    outcome: 'complete',
    usageSource: 'final',
    usage: whole,
    costPicos: costOf(whole, RATES),
    waivedPicos: ZERO,
    status: 200,
    firstByteMs: 12,
    durationMs: 345.6,
    now: NOW + 1_000,
    ...more,
  }
}

export const holdTask = (...args: Parameters<typeof holdRequest>): Ask => ({ kind: 'hold', request: holdRequest(...args) })
export const settleTask = (...args: Parameters<typeof settlement>): Ask => ({ kind: 'settle', settlement: settlement(...args) })
/** Who acts in tests. */
export const ACT: Act = { actor: 'os:tester', address: 'test', reason: '' }

export const operateTask = (operation: Operation, act: Act = ACT): Ask => ({ kind: 'operate', operation, act })
