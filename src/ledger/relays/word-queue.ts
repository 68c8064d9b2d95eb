/**
 * What a relay tells the ledger process without an answer, while it cannot: the words leave in their order once the relay is welcome, so that an answer is kept before its
 * claim ends. Rules: processes.md "Shared", "Death".
 */

import type { Word } from './shared-state.ts'

type Waiting = Readonly<{ word: Word; onSent: () => void }>

/** The ledger process is away for a second at most, in which answers of this size may end. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024

export class WordQueue {
  #waiting: Waiting[] = []
  #bytes = 0

  /** An answer for which there is no room is not kept for other relays: its own one has it. */
  add(word: Word, onSent: () => void): void {
    const bytes = bytesOf(word)
    if (this.#bytes + bytes > KEPT_BYTES_MAX) return
    this.#bytes += bytes
    this.#waiting.push({ word, onSent })
  }

  sendAll(send: (word: Word) => void): void {
    this.#bytes = 0
    for (const { word, onSent } of this.#waiting.splice(0)) {
      send(word)
      onSent()
    }
  }
}

function bytesOf(word: Word): number {
  if (word.kind !== 'keep') return 0
  return word.answer.parts.flatMap(({ pieces }) => pieces).reduce((sum, { byteLength }) => sum + byteLength, 0)
}
