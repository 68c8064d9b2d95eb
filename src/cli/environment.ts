/** The parts of the process that commands use, so that tests run them in-process. */

import type { Environment } from '../config/secret.ts'

export type CliEnvironment = Readonly<{
  /** Starts the ledger's thread; its URL is made in the main file, where a compiled binary finds it. */
  startThread: () => Worker
  /** Starts the thread that holds a socket to Postgres, likewise. */
  startSyncDriver: () => Worker
  /** Starts a thread for heavy bodies, likewise. */
  startBodyThread: () => Worker
  /** Starts the thread of kept answers, likewise. */
  startAnswersThread: () => Worker
  env: Environment
  stdout: (text: string) => void
  /** Writes to the same place without escaping: for signed lines. */
  verbatim: (text: string) => void
  stderr: (text: string) => void
  /** The working folder. */
  folder: string
  /** Unix milliseconds. */
  now: () => number
}>

/** 0 ok · 1 a finding · 2 wrong use · 3 no ledger, or it is locked. Rules: operator.md "Commands". */
export const EXIT = { ok: 0, finding: 1, usage: 2, ledger: 3 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Why a command ends early: one sentence for the operator and the exit code. A value, like a refusal. */
export type Stop = Readonly<{ stop: string; exitCode: ExitCode }>

export const isStop = (value: unknown): value is Stop => typeof value === 'object' && value !== null && 'stop' in value

export const wrongUse = (stop: string): Stop => ({ stop, exitCode: EXIT.usage })
export const noLedger = (stop: string): Stop => ({ stop, exitCode: EXIT.ledger })

/** Ids begin with the time, and none can be made of one before 1970; nor could what is written then be told from nothing. `now`: Unix milliseconds. */
export const clockProblem = (now: number): Stop | undefined =>
  now >= 0 ? undefined : { stop: `the clock says ${new Date(now).toISOString()}, before 1970: set it first`, exitCode: EXIT.finding }

/** Whatever is made meanwhile is its owner's only. */
export function asOwnersOnly<T>(make: () => T): T {
  const umask = process.umask(0o077)
  try {
    return make()
  } finally {
    process.umask(umask)
  }
}
