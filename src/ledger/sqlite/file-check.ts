/** Checks a whole file that was left open, on a thread of its own, so that requests never wait for the check. Rules: ledger.md "A file left open". */

import type { ThreadOptions } from '../admission/thread-handle.ts'
import type { FromThread, ToThread } from '../thread-messages.ts'

type Options = Pick<ThreadOptions, 'startThread' | 'onFault'> & Readonly<{ path: string }>

export class FileCheck {
  readonly #options: Options
  readonly #onSound: () => void
  #worker: Worker | undefined
  #damage: string | undefined

  constructor(options: Options, onSound: () => void) {
    this.#options = options
    this.#onSound = onSound
  }

  get hasFoundDamage(): boolean {
    return this.#damage !== undefined
  }

  /** Starts a check, unless one runs or the file is known to be damaged. */
  start(): void {
    if (this.#worker !== undefined || this.#damage !== undefined) return
    const { path, startThread, onFault } = this.#options
    const worker = startThread()
    this.#worker = worker
    worker.addEventListener('message', ({ data }: MessageEvent<FromThread>) => {
      if (data.kind === 'fault') onFault(data.fault)
      if (data.kind !== 'checked' || this.#worker !== worker) return
      this.stop()
      this.#damage = data.damage
      if (data.damage === undefined) this.#onSound()
      else onFault({ problem: `${path} is damaged (${data.damage}); restore a backup` })
    })
    worker.addEventListener('error', () => onFault({ problem: 'the check of the file failed' }))
    worker.addEventListener('close', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    worker.postMessage({ kind: 'check', path } satisfies ToThread)
  }

  stop(): void {
    this.#worker?.terminate()
    this.#worker = undefined
  }
}
