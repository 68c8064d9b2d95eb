/** Reads a count of tokens from a server that has another name for the figure. Rules: doors.md "Answers". */

import { isObject } from '../../core/json.ts'
import type { BodyDecoder, Reading } from './door.ts'

const ANSWER_BYTES_MAX = 64 * 1024

/** `name`: the figure's name in the server's answer. */
export const tokenCount = (name: string): Reading => ({ isEventStream: false, decoder: new TokenCount(name) })

class TokenCount implements BodyDecoder {
  readonly #name: string
  readonly #pieces: Uint8Array[] = []
  #length = 0
  isBroken = false

  constructor(name: string) {
    this.#name = name
  }

  push(piece: Uint8Array): Uint8Array {
    this.#length += piece.length
    if (this.#length > ANSWER_BYTES_MAX) this.isBroken = true
    else this.#pieces.push(piece)
    return NOTHING
  }

  end(): Uint8Array {
    const tokens = figureOf(Buffer.concat(this.#pieces), this.#name)
    if (Number.isSafeInteger(tokens)) return Buffer.from(`{"input_tokens":${tokens}}`)
    this.isBroken = true
    return NOTHING
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
