/** What a file needs while it is open: its log moved into it, a check where it was left open, its lock. Rules: ledger.md "Files", "A file left open". */

import type { Keeper } from '../keeper.ts'
import type { ThreadOptions } from '../thread-handle.ts'
import { Checkpointer } from './checkpointer.ts'
import { FileCheck } from './file-check.ts'
import type { Lock } from './lock.ts'

type Options = Pick<ThreadOptions, 'startThread' | 'onFault'> &
  Readonly<{
    path: string
    /** It leads to the file also when no path does. */
    lock: Lock
    /** Whether the whole file is checked behind the start where it was left open; a command leaves that to the gateway that comes after it. */
    checksFile: boolean
  }>

export class FileKeeper implements Keeper {
  readonly #options: Options
  readonly #checkpointer: Checkpointer
  readonly #check: FileCheck

  constructor(options: Options, onSound: () => void) {
    this.#options = options
    this.#checkpointer = new Checkpointer(options.path, options.startThread)
    this.#check = new FileCheck(options, onSound)
  }

  onLeftOpen(): void {
    if (this.#options.checksFile) this.#check.start()
  }

  mayAdmit(): boolean {
    return true
  }

  noteCommit(settles: number): void {
    this.#checkpointer.noteCommit(settles)
  }

  isSound(): boolean {
    return !this.#check.hasFoundDamage
  }

  /** What is committed is in the open file, which the kernel keeps until the process ends. Source: proc_pid_fd(5). */
  rescueHint(): string {
    return process.platform === 'linux'
      ? `no new requests; \`cp /proc/${process.pid}/fd/${this.#options.lock.handle} FILE\` has all of it, then stop the gateway and \`tollgate restore FILE\``
      : 'no new requests; put it back, or stop the gateway and restore a backup'
  }

  stop(): void {
    this.#check.stop()
  }

  close(): Promise<void> {
    return this.#checkpointer.close()
  }

  onClosed(): void {
    this.#options.lock.release()
  }
}
