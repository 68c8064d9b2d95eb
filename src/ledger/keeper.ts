/** What a store needs beside the thread that writes, for as long as the ledger is open. Rules: ledger.md "Two stores". */

import type { ToThread } from './task.ts'

export interface Keeper {
  /** The thread has opened what an earlier run, or an earlier thread, did not close. */
  onLeftOpen(): void
  /** After each commit: how many settles it had. */
  noteCommit(settles: number): void
  /** False while this process may reserve nothing, because what it counts on may be another's. */
  mayAdmit(): boolean
  /** False once the storage was found damaged. */
  isSound(): boolean
  /** How the rows that are committed can be had while the ledger is not at its place. */
  rescueHint(): string
  /** Before the last commits. */
  stop(): void
  /** After all is sent; resolves when its connections are closed. */
  close(): Promise<void>
  /** After the thread has closed the store. */
  onClosed(): Promise<void> | void
}

/** sound: what was left open is whole. node: it is a node again, as another boot. */
export type FromKeeper = Extract<ToThread, { kind: 'sound' | 'node' }>
/** `tell` says it to the thread that writes, where there is one. */
export type MakeKeeper = (tell: (message: FromKeeper) => void) => Keeper
