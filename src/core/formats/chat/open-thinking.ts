/** A thinking block while it streams. Its text goes out as it comes; when it is signed, the block goes out whole at its end, so that the client can send it back. */

import { type ByteString, EMPTY, encodeJson } from '../../bytes/byte-string.ts'
import type { JsonObject } from '../../json.ts'
import type { ChunkWriter } from './chunk.ts'

export class OpenThinking {
  /** The inside of the JSON string of all the thinking, as bytes. */
  #inside: string
  #signature: string
  readonly #data: string | undefined

  constructor({ type, thinking, signature, data }: JsonObject) {
    this.#inside = typeof thinking === 'string' ? encodeJson(thinking).slice(1, -1) : EMPTY
    this.#signature = typeof signature === 'string' ? signature : ''
    this.#data = type === 'redacted_thinking' && typeof data === 'string' ? data : undefined
  }

  add(text: string, from: number, to: number): void {
    this.#inside += text.slice(from + 1, to - 1)
  }

  /** Takes the signature of a `signature_delta`; any other delta says nothing. */
  sign({ type, signature }: JsonObject): void {
    if (type === 'signature_delta' && typeof signature === 'string') this.#signature += signature
  }

  /** The chunk with the whole block; '' when it could not be sent back. */
  end(writer: ChunkWriter): string {
    if (this.#data !== undefined) return writer.delta({ thinking_blocks: [{ type: 'redacted_thinking', data: this.#data }] })
    if (this.#signature === '') return EMPTY
    const { before, after } = writer.template(
      '{"thinking_blocks":[{"type":"thinking","thinking":',
      `,"signature":${encodeJson(this.#signature)}}]}`,
    )
    return `${before}"${this.#inside}"${after}` as ByteString
  }
}
