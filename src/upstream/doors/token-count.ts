/** The answer to a count of tokens of a server that names the figure otherwise. Rules: doors.md "Answers". */

import { isObject } from '../../core/json.ts'
import type { BodyDecoder, Reading } from './door.ts'

const ANSWER_BYTES_MAX = 64 * 1024

/** `name`: of the figure in the server's answer. */
export const tokenCount = (name: string): Reading => ({ isEventStream: false, decoder: new TokenCount(name) })

class TokenCount implements BodyDecoder {
  readonly #name: string
  readonly #pieces: Uint8Array[] = []
  #length = 0

  constructor(name: string) {
    this.#name = name
  }

  push(piece: Uint8Array): Uint8Array | 'broken' {
    this.#length += piece.length
    if (this.#length > ANSWER_BYTES_MAX) return 'broken'
    this.#pieces.push(piece)
    return NOTHING
  }

  end(): Uint8Array | 'broken' {
    const tokens = figureOf(Buffer.concat(this.#pieces), this.#name)
    return Number.isSafeInteger(tokens) ? Buffer.from(`{"input_tokens":${tokens}}`) : 'broken'
  }
}

const NOTHING = new Uint8Array()

function figureOf(bytes: Buffer, name: string): unknown {
  try {
    const json: unknown = JSON.parse(bytes.toString())
    return isObject(json) ? json[name] : undefined
  } catch {
    return undefined
  }
}
