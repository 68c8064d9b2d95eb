/**
 * Counting tokens: four bytes of UTF-8 are one token, so that a figure can be checked by hand. The gateway's own estimate has the same rule
 * (money.md "Estimates").
 */

import { isObject, type JsonObject } from '../core/json.ts'

const BYTES_PER_TOKEN = 4
/** A native upstream counts pictures and pages by area, not by bytes. */
const IMAGE_TOKENS = 1_600
const DOCUMENT_TOKENS = 3_000

export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)

export const tokensOf = (text: string): number => tokensOfBytes(Buffer.byteLength(text))

/** The longest beginning of `text` that is at most `tokensMax` tokens; characters stay whole. */
export function firstTokens(text: string, tokensMax: number): string {
  const bytesMax = tokensMax * BYTES_PER_TOKEN
  if (Buffer.byteLength(text) <= bytesMax) return text
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > bytesMax) break
    end += character.length
  }
  return text.slice(0, end)
}

/** Tokens of a content block, a tool definition or a system block. */
export function tokensOfBlock(block: JsonObject): number {
  if (block['type'] === 'text' && typeof block['text'] === 'string') return tokensOf(block['text'])
  if (isObject(block['source']) && block['source']['type'] !== 'text') return block['type'] === 'image' ? IMAGE_TOKENS : DOCUMENT_TOKENS
  return tokensOf(JSON.stringify(block))
}
