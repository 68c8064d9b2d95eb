/** What a store needs beside the thread that writes, for as long as the ledger is open. Rules: ledger.md "Two stores". */

export interface Keeper {
  /** The thread has opened what an earlier run, or an earlier thread, did not close. */
  onLeftOpen(): void
  /** After each commit: how many settles it had. */
  noteCommit(settles: number): void
  /** Where others write as well: whether what is leased to this node is still its own. Absent: it always is. */
  mayAdmit?(): boolean
  /** False once the storage was found damaged. */
  isSound(): boolean
  /** How the rows that are committed can be had while the ledger is not at its place. */
  rescueHint(): string
  /** Before the last commits. */
  stop(): void
  /** After all is sent; resolves when its connections are closed. */
  close(): Promise<void>
  /** After the thread has closed the store. */
  onClosed(): void
}

/** `tellSound` tells the thread that what was left open is whole. */
export type MakeKeeper = (tellSound: () => void) => Keeper
