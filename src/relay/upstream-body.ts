/** An upstream's body while it is read: its chunks, and how it is let go without a rejection that nobody sees. Rules: platform.md "Rejections". */

import { BodyStream } from '../upstream/body-stream.ts'
import type { Body } from '../upstream/upstream.ts'

/** What can be read: chunks of bytes. */
type Reader = { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>; cancel(): Promise<void> }

export class UpstreamBody {
  readonly #reader: Reader

  constructor(body: Body) {
    const pulled = new BodyStream(body)
    this.#reader = pulled.stream.getReader()
    body.take(pulled)
  }

  /** The next chunk; `ended` in order, or `broken`: reset, cut short, badly compressed, or aborted by us. */
  async read(): Promise<Uint8Array | 'ended' | 'broken'> {
    try {
      const { value } = await this.#reader.read()
      return value ?? 'ended'
    } catch {
      return 'broken'
    }
  }

  /** A read that waits ends at once. */
  cancel(): void {
    this.#reader.cancel().catch(() => undefined)
  }

  /** Reads what is left, so that the connection can be used again; gives up after `waitMs`. */
  async readOn(waitMs: number): Promise<void> {
    const timer = setTimeout(() => this.cancel(), waitMs)
    while ((await this.read()) instanceof Uint8Array);
    clearTimeout(timer)
  }
}
