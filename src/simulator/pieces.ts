/** Cuts a block's text into the pieces that its deltas carry: a few words of prose, a few characters of JSON, as a native upstream does. */

import type { Block } from './answer.ts'
import type { Dice } from './seed.ts'

const WORDS_MAX = 4
const JSON_CHARACTERS_MAX = 16

/** Joined, the pieces are the text. A tool call starts with an empty piece. */
export function cutIntoPieces({ kind, text }: Block, dice: Dice): readonly string[] {
  if (kind === 'tool_use') return ['', ...grouped([...text], JSON_CHARACTERS_MAX, dice)]
  return grouped(text.match(WORD) ?? [], WORDS_MAX, dice)
}

/** A word with the space before it; long runs without a space are cut. */
const WORD = /\s*\S{1,24}|\s+/gu

function grouped(parts: readonly string[], sizeMax: number, dice: Dice): readonly string[] {
  const pieces: string[] = []
  for (let at = 0; at < parts.length; ) {
    const size = 1 + dice(sizeMax)
    pieces.push(parts.slice(at, at + size).join(''))
    at += size
  }
  return pieces
}
