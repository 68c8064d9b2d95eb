/** The parts of the process that commands use, so that tests run them in-process. */

import type { Environment } from '../config/secret.ts'

export type CliEnvironment = Readonly<{
  /** Starts the ledger's thread; its URL is made in the main file, where a compiled binary finds it. */
  startThread: () => Worker
  /** Starts the thread that holds a socket to Postgres; its URL is made there, too. */
  startSyncDriver: () => Worker
  /** Starts a thread for heavy bodies; its URL is made there, too. */
  startBodyThread: () => Worker
  /** Starts the thread of kept answers; its URL is made there, too. */
  startAnswersThread: () => Worker
  /** Starts the thread of the history; its URL is made there, too. */
  startHistoryThread: () => Worker
  /** Starts the thread of the people; its URL is made there, too. */
  startPeopleThread: () => Worker
  env: Environment
  stdout: (text: string) => void
  /** Writes to standard output without escaping, for lines that are signed. */
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

/** Refuses a clock before 1970: ids begin with the time, and such a time could not be told from none. `now`: Unix milliseconds. */
export const clockProblem = (now: number): Stop | undefined =>
  now >= 0 ? undefined : { stop: `the clock says ${new Date(now).toISOString()}, before 1970: set it first`, exitCode: EXIT.finding }

/** Files that `make` creates are open to their owner only. */
export function asOwnersOnly<T>(make: () => T): T {
  const umask = process.umask(0o077)
  try {
    return make()
  } finally {
    process.umask(umask)
  }
}
