/**
 * One pass over JSON text before it is parsed: bounds nesting and the number of separators (both stall `JSON.parse` long before 32 MB), and notes where the
 * top-level members' values stand, so that a value can be replaced without touching another byte. Source: product.md "Requests"; reliability.md §0.9.
 */

import type { ByteString } from './byte-string.ts'
import { decode } from './byte-string.ts'
import { JSON_DEPTH_MAX, JSON_SEPARATORS_MAX } from './limits.ts'

/** Byte offsets, `end` exclusive. */
export type Span = Readonly<{ start: number; end: number }>

/** A top-level member: its name, and where its value stands. */
export type Member = Readonly<{ name: string; value: Span }>

export type Scanned = Readonly<{ members: readonly Member[] }> | 'too-deep' | 'too-many-separators'

/** Trusts nothing but brackets and quotes: whether the text is JSON at all is for `JSON.parse` to say. Spans are meant for text that parses. */
export const scanJson = (text: ByteString): Scanned => scan(text, JSON_DEPTH_MAX, JSON_SEPARATORS_MAX)

/** The top-level members of JSON text that parsed; their spans count from the start of the text. */
export function membersOf(text: ByteString): readonly Member[] {
  const scanned = scan(text, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  return typeof scanned === 'string' ? [] : scanned.members
}

function scan(text: ByteString, depthMax: number, separatorsMax: number): Scanned {
  const members: Member[] = []
  let depth = 0
  let separators = 0
  let name: string | undefined
  let lastString: Span | undefined
  let valueStart = -1
  const closeMember = (end: number): void => {
    if (name === undefined) return
    members.push({ name, value: trimmed(text, valueStart, end) })
    name = undefined
  }
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = skipString(text, at)
        if (depth === 1 && name === undefined) lastString = { start: at, end }
        at = end - 1
        break
      }
      case 0x7b:
      case 0x5b:
        if (++depth > depthMax) return 'too-deep'
        break
      case 0x7d:
      case 0x5d:
        if (depth === 1) closeMember(at)
        depth--
        break
      case 0x3a:
        if (depth === 1 && name === undefined && lastString !== undefined) {
          name = memberName(text, lastString)
          valueStart = at + 1
        }
        if (++separators > separatorsMax) return 'too-many-separators'
        break
      case 0x2c:
        if (depth === 1) closeMember(at)
        if (++separators > separatorsMax) return 'too-many-separators'
    }
  }
  return { members }
}

/** Past the closing quote of the string that opens at `from`; the end of the text when it never closes. */
function skipString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

function memberName(text: string, { start, end }: Span): string {
  const literal = text.slice(start, end)
  if (!literal.includes('\\')) return decode(literal.slice(1, -1))
  try {
    return String(JSON.parse(decode(literal)))
  } catch {
    return ''
  }
}

function trimmed(text: string, from: number, to: number): Span {
  let start = from
  let end = to
  while (start < end && text.charCodeAt(start) <= 0x20) start++
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--
  return { start, end }
}
