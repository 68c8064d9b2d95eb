/**
 * The transcoder of a model that has upstreams of both kinds: which kind answers is known when its stream begins. Rules: openai.md "Pools".
 */

import type { Answered, Stamp } from '../../format.ts'
import type { Dialect } from '../../native/event.ts'
import type { Observation } from '../../native/observation.ts'
import type { Refusal } from '../../refusal.ts'
import type { ChatManner, Pushed, StreamClose, Transcoder } from '../../transcoder.ts'
import { PassedStream } from './pass/stream.ts'
import { ChatTranscoder } from './stream.ts'
import type { ChatEcho } from './wire.ts'

export class EitherStream implements Transcoder {
  readonly givesItsOwn = true
  readonly #call: Answered<ChatEcho>
  readonly #stamp: Stamp
  #stream: Transcoder

  constructor(call: Answered<ChatEcho>, stamp: Stamp) {
    this.#call = call
    this.#stamp = stamp
    this.#stream = new ChatTranscoder(call, stamp)
  }

  hears(dialect: Dialect, hidesErrorText?: boolean, chat?: ChatManner): void {
    if (chat !== undefined) this.#stream = new PassedStream(this.#call, this.#stamp)
    this.#stream.hears(dialect, hidesErrorText, chat)
  }

  push(chunk: Uint8Array): Pushed {
    return this.#stream.push(chunk)
  }

  end(how: StreamClose): Pushed {
    return this.#stream.end(how)
  }

  fail(refusal: Refusal): Uint8Array {
    return this.#stream.fail(refusal)
  }

  heartbeat(): Uint8Array {
    return this.#stream.heartbeat()
  }

  get observation(): Observation {
    return this.#stream.observation
  }
}
