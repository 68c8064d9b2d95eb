/**
 * Opens the ledger for writing: it takes the lock first, then starts the thread, which opens the file and recovers what an earlier run left.
 * Rules: ledger.md "One writer", "Recovery"; platform.md "Process".
 */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDatabase } from '../../../db/open.ts'
import { type DatabaseProblem, problemOf } from '../../../db/problem.ts'
import { GroupCommit } from '../admission/group-commit.ts'
import { type Enter, enterThread } from '../admission/thread-handle.ts'
import { type LedgerOptions, type OpenedLedger, withDefaults } from '../open-options.ts'
import type { OpenProblem } from '../thread-messages.ts'
import { danglingTarget, realPathOf } from './file-id.ts'
import { type Lock, takeLock, whileFolderIsLocked } from './lock.ts'
import { FileSupervisor } from './store-supervisor.ts'
import { goneText, watermarkPathOf } from './watermark.ts'

const LOCK_PAUSE_MS = 50

/** `startThread` makes a Worker of `src/ledger/thread.ts`. */
export async function openLedger(options: LedgerOptions & Readonly<{ path: string }>): Promise<OpenedLedger | OpenProblem> {
  const { create, lockWaitMs = 0, checksFile = false } = options
  const path = realPathOf(options.path)
  const held = await lockWithin(lockWaitMs, path, create)
  if ('problem' in held) return held
  const { lock, isNew } = held
  const given = withDefaults(options)
  const relays = options.relaysAt?.(path)
  const release = (): void => {
    relays?.close()
    lock.release()
  }
  const place = { kind: 'sqlite', path, file: lock.file, named: options.path } as const
  const enter: Enter = (listener) =>
    enterThread({ ...given, place: () => place, keepsInFlight: () => relays?.keepsInFlight() ?? false }, listener)
  const ledger = new GroupCommit({
    ...given,
    isShared: false,
    enter: relays === undefined ? enter : relays.through(enter),
    makeSupervisor: (tell) => new FileSupervisor({ ...given, path, lock: { ...lock, release }, checksFile }, tell),
  })
  const opened = await ledger.start()
  if ('recovered' in opened) return { ledger, recovered: opened.recovered, replayed: opened.replayed.length, path, isNew, relays }
  release()
  return opened
}

type Held = Readonly<{ lock: Lock; isNew: boolean }>

/** Tries to get the lock for a while, because a command that writes holds it only for a moment. */
async function lockWithin(waitMs: number, path: string, create: boolean): Promise<Held | OpenProblem> {
  const until = performance.now() + waitMs
  for (;;) {
    const held = lockOf(path, create)
    if (!('problem' in held) || held.problem !== 'locked' || performance.now() >= until) return held
    await Bun.sleep(LOCK_PAUSE_MS)
  }
}

function lockOf(path: string, create: boolean): Held | OpenProblem {
  try {
    const made = existsSync(path) ? 'there' : makeAt(path, create)
    if (typeof made !== 'string') return made
    const lock = takeLock(path)
    if ('release' in lock) return { lock, isNew: made === 'new' }
    return inUseBy(lock.holder)
  } catch (error) {
    return problemOf(error, path)
  }
}

/** Makes a new ledger if `create` is set and no file is there. The folder is locked, so that neither of two processes replaces the ledger of the other. */
function makeAt(path: string, create: boolean): 'there' | 'new' | DatabaseProblem {
  const target = danglingTarget(path)
  if (target !== undefined) return { problem: 'missing', message: `${path} is a link to ${target}, where nothing is` }
  if (existsSync(watermarkPathOf(path))) return { problem: 'missing', message: goneText(path) }
  if (!create) return { problem: 'missing', message: `there is no ledger at ${path}` }
  mkdirSync(dirname(path), { recursive: true })
  const made = whileFolderIsLocked(dirname(path), () => (existsSync(path) ? 'there' : (makeDatabase(path) ?? 'new')))
  return made ?? inUseBy(undefined)
}

const inUseBy = (holder: number | undefined): OpenProblem => ({
  problem: 'locked',
  message: `ledger is in use by ${holder === undefined ? 'another process' : `pid ${holder}`}`,
})
