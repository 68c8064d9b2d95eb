/** Looks after a file while it is open: moves its log into it, checks it where it was left open, holds its lock. Rules: ledger.md "Files", "A file left open". */

import type { FromSupervisor, StoreSupervisor } from '../admission/store-supervisor.ts'
import type { ThreadOptions } from '../admission/thread-handle.ts'
import type { Loss } from '../task.ts'
import { FileCheck } from './file-check.ts'
import type { Lock } from './lock.ts'
import { WalCheckpointer } from './wal-checkpointer.ts'

type Options = Pick<ThreadOptions, 'startThread' | 'onFault'> &
  Readonly<{
    path: string
    /** It leads to the file also when no path does. */
    lock: Lock
    /** Whether the whole file is checked behind the start where it was left open; a command leaves that to the gateway that comes after it. */
    checksFile: boolean
  }>

export class FileSupervisor implements StoreSupervisor {
  readonly #options: Options
  readonly #checkpointer: WalCheckpointer
  readonly #check: FileCheck

  constructor(options: Options, tell: (message: FromSupervisor) => void) {
    this.#options = options
    this.#checkpointer = new WalCheckpointer(options.path, options.startThread, () => tell({ kind: 'walCheckpointed' }))
    this.#check = new FileCheck(options, () => tell({ kind: 'sound' }))
  }

  onLeftOpen(): void {
    if (this.#options.checksFile) this.#check.start()
  }

  mayAdmit(): boolean {
    return true
  }

  onWalCheckpointDue(): void {
    this.#checkpointer.run()
  }

  isSound(): boolean {
    return !this.#check.hasFoundDamage
  }

  onCommitted(): void {}

  /** A disk that stands still lets this process stand still with it. */
  whileHeard<T>(working: Promise<T>): Promise<T> {
    return working
  }

  /** What is committed is in the open file, which the kernel keeps until the process ends, unless that was overwritten. Source: proc_pid_fd(5). */
  rescueHint({ isOverwritten }: Loss): string {
    if (isOverwritten)
      return 'no new requests, and nothing is written to it; stop the gateway and `tollgate restore FILE` a backup: what ended since is kept in its spill alone'
    return process.platform === 'linux'
      ? `no new requests; \`cp /proc/${process.pid}/fd/${this.#options.lock.file.handle} FILE\` has all of it, then stop the gateway and \`tollgate restore FILE\``
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
