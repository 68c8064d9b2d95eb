/**
 * The history of a process: what the recorder has counted is written every ten seconds, and once more at the end. A process that is killed loses its last seconds, and one
 * that cannot write goes on and tries again. Rules: pages.md "History".
 */

import { WRITER_GONE_S } from '../core/history/kept.ts'
import type { HistoryRecorder } from '../core/history/recorder.ts'
import type { HistoryStore } from './store.ts'

const WRITE_MS = 10_000
/** How often a process that had no requests says that it lives. */
const LIVES_MS = (WRITER_GONE_S / 3) * 1_000

type Options = Readonly<{ store: HistoryStore; recorder: HistoryRecorder; monotonicMs: () => number; everyMs?: number }>

export class HistoryWriting {
  readonly #options: Options
  #timer: ReturnType<typeof setInterval> | undefined
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false
  #toldAtMs = Number.NEGATIVE_INFINITY

  constructor(options: Options) {
    this.#options = options
  }

  begin(): void {
    this.#timer = setInterval(() => this.#tick(), this.#options.everyMs ?? WRITE_MS)
    this.#timer.unref()
  }

  /** Writes what is left. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#write(true)
    this.#options.store.close()
  }

  #tick(): void {
    if (this.#isWriting) return
    const { recorder, monotonicMs } = this.#options
    const hasNews = recorder.take().length > 0
    // A process that never had a request makes no file.
    const mustTell = this.#toldAtMs > Number.NEGATIVE_INFINITY && monotonicMs() > this.#toldAtMs + LIVES_MS
    if (hasNews || mustTell) this.#writing = this.#write(false)
  }

  async #write(isWhole: boolean): Promise<void> {
    const { store, recorder, monotonicMs } = this.#options
    const moments = recorder.take()
    if (isWhole && moments.length === 0 && this.#toldAtMs === Number.NEGATIVE_INFINITY) return
    this.#isWriting = true
    const isWritten = await store.write(recorder.writer, moments, isWhole).catch(() => false)
    this.#isWriting = false
    if (!isWritten) return
    recorder.written(moments)
    this.#toldAtMs = monotonicMs()
  }
}
