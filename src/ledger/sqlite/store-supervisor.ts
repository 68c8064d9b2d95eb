/** Looks after a file while it is open: moves its log into it, checks it if it was left open, and holds its lock. Rules: ledger.md "Files", "A file left open". */

import type { FromSupervisor, StoreSupervisor } from '../admission/store-supervisor.ts'
import type { ThreadOptions } from '../admission/thread-handle.ts'
import type { Loss } from '../thread-messages.ts'
import { FileCheck } from './file-check.ts'
import type { Lock } from './lock.ts'
import { WalCheckpointer } from './wal-checkpointer.ts'

type Options = Pick<ThreadOptions, 'startThread' | 'onFault'> &
  Readonly<{
    path: string
    /** The lock, whose handle leads to the file also when no path does. */
    lock: Lock
    /** Whether a file that was left open is checked as a whole after the start; a command leaves that to the next gateway. */
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

  /** Never gives up: when the disk blocks, this process blocks with it. */
  whileHeard<T>(working: Promise<T>): Promise<T> {
    return working
  }

  /** Committed rows are in the open file, which the kernel keeps until the process ends, unless the file was overwritten. Source: proc_pid_fd(5). */
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
