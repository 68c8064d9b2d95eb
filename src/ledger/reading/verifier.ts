/**
 * A look over the whole ledger while the gateway runs, on a thread of its own, one at a time: it holds no commit up, and is told how far it has come. The last ones are
 * remembered. Rules: money.md "Verify"; operator-api.md "Jobs".
 */

import { boundedMap } from '../../core/bounded-map.ts'
import type { Difference } from '../chain/difference.ts'
import type { VerifyProgress } from '../chain/verify-progress.ts'
import type { Place } from '../place.ts'
import type { LedgerFault } from '../thread-messages.ts'

export type ToVerifier = Readonly<{ kind: 'verify'; place: Place }>
export type FromVerifier =
  | Readonly<{ kind: 'verifying'; progress: VerifyProgress }>
  | Readonly<{ kind: 'verified'; found: readonly Difference[] }>
  /** The ledger could not be read, and why. */
  | Readonly<{ kind: 'unverified'; problem: string }>

/** Times are Unix milliseconds. `found`: empty for a sound ledger. */
export type Verification = Readonly<{ id: string; startedAt: number; endedAt: number | null; progress: VerifyProgress }> &
  (
    | Readonly<{ state: 'running' }>
    | Readonly<{ state: 'done'; found: readonly Difference[] }>
    | Readonly<{ state: 'failed'; problem: string }>
  )

type Options = Readonly<{ place: Place; startThread: () => Worker; now: () => number; onFault: (fault: LedgerFault) => void }>

const REMEMBERED_MAX = 20

export class Verifier {
  readonly #options: Options
  readonly #known = boundedMap<Verification>(REMEMBERED_MAX)
  #worker: Worker | undefined
  #running: string | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** Begins a look, or gives the one that runs. */
  start(): Verification {
    const running = this.#running === undefined ? undefined : this.#known.get(this.#running)
    if (running !== undefined) return running
    const { place, startThread, now, onFault } = this.#options
    const id = `ver_${Bun.randomUUIDv7('hex').replaceAll('-', '')}`
    const begun: Verification = { id, startedAt: now(), endedAt: null, progress: { step: 'rules', done: 0, of: 0 }, state: 'running' }
    this.#known.set(id, begun)
    this.#running = id
    const worker = startThread()
    this.#worker = worker
    worker.addEventListener('message', ({ data }: MessageEvent<FromVerifier>) => this.#hear(id, data))
    worker.addEventListener('error', () => onFault({ problem: 'the look over the ledger failed: its thread ended' }))
    worker.addEventListener('close', () => this.#hear(id, { kind: 'unverified', problem: 'the thread ended before it was done' }))
    worker.postMessage({ kind: 'verify', place } satisfies ToVerifier)
    return begun
  }

  /** Undefined: this process began no such look, or so many since that it is forgotten. */
  find(id: string): Verification | undefined {
    return this.#known.get(id)
  }

  close(): void {
    this.#worker?.terminate()
  }

  #hear(id: string, said: FromVerifier): void {
    const known = this.#known.get(id)
    if (known?.state !== 'running') return
    if (said.kind === 'verifying') {
      this.#known.set(id, { ...known, progress: said.progress })
      return
    }
    const { of } = known.progress
    const ended = { ...known, endedAt: this.#options.now() }
    if (said.kind === 'verified')
      this.#known.set(id, { ...ended, progress: { step: 'chains', done: of, of }, state: 'done', found: said.found })
    if (said.kind === 'unverified') this.#known.set(id, { ...ended, state: 'failed', problem: said.problem })
    this.#running = undefined
    this.#worker?.terminate()
    this.#worker = undefined
  }
}
