/**
 * One pass over JSON text before it is parsed: bounds its nesting and the values that the parser has to make (either stalls `JSON.parse` long before 32 MB), and notes where the
 * top-level members' values stand, so that a value can be replaced without touching another byte. Rules: requests.md "JSON bounds".
 */

import { JSON_DEPTH_MAX, JSON_SEPARATORS_MAX } from '../limits.ts'
import type { ByteString } from './byte-string.ts'
import { decode } from './byte-string.ts'

/** Offsets of characters, which in a byte string are bytes; `end` exclusive. */
export type Span = Readonly<{ start: number; end: number }>

/** A top-level member: its name, and where its value stands. */
export type Member = Readonly<{ name: string; value: Span }>

/** `separators`: commas, colons, and opened arrays and objects, outside strings. */
export type Scanned = Readonly<{ members: readonly Member[]; separators: number }> | 'too-deep' | 'too-many-separators'

/**
 * Looks only at brackets, quotes, commas and colons, and stops where `JSON.parse` stops, which decides whether the text is JSON. The spans are right only for text that
 * parses.
 */
export const scanJson = (text: ByteString): Scanned => scan(text, JSON_DEPTH_MAX, JSON_SEPARATORS_MAX, 1)

/** The same checks for ordinary text, without noting members. */
export const checkJsonBounds = (text: string, separatorsMax: number): Scanned => scan(text, JSON_DEPTH_MAX, separatorsMax, 0)

/** The top-level members of JSON text that parsed; their spans count from the start of the text. */
export function membersOf(text: ByteString): readonly Member[] {
  const scanned = scan(text, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1)
  return typeof scanned === 'string' ? [] : scanned.members
}

/** The elements of an array in JSON text that parsed. */
export function elementsOf(text: ByteString, array: Span): readonly Span[] {
  const elements: Span[] = []
  let depth = 0
  let start = array.start + 1
  for (let at = array.start; at < array.end; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = skipString(text, at) - 1
    else if (code === 0x7b || code === 0x5b) depth++
    else if (code === 0x7d || code === 0x5d) depth--
    if (depth > 1 || (depth === 1 && code !== 0x2c) || (depth === 0 && code !== 0x5d)) continue
    const element = trimmed(text, start, at)
    if (element.end > element.start) elements.push(element)
    start = at + 1
  }
  return elements
}

/** After so many characters without structure, a call of the engine's own search, which looks at many at once, pays off. */
const NEAR = 64
const STRUCTURE = /["[\]{},:]/g

/** `memberDepth`: the depth of the members that are noted; 0: none. */
function scan(text: string, depthMax: number, separatorsMax: number, memberDepth: 0 | 1): Scanned {
  const members: Member[] = []
  const { length } = text
  let depth = 0
  let separators = 0
  let idle = 0
  /** True after a string: another string right behind it is no JSON. */
  let isAfterString = false
  let name: string | undefined
  let stringStart = -1
  let stringEnd = -1
  let valueStart = -1
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    switch (code) {
      case 0x22: {
        if (isAfterString) return { members, separators }
        isAfterString = true
        stringStart = at
        stringEnd = skipString(text, at)
        at = stringEnd - 1
        break
      }
      case 0x7b:
      case 0x5b:
        if (++depth > depthMax) return 'too-deep'
        if (++separators > separatorsMax) return 'too-many-separators'
        isAfterString = false
        stringStart = -1
        break
      case 0x7d:
      case 0x5d:
        if (depth === 1 && name !== undefined) members.push({ name, value: trimmed(text, valueStart, at) })
        if (--depth <= 0) return { members, separators }
        isAfterString = false
        break
      case 0x3a:
      case 0x2c:
        if (++separators > separatorsMax) return 'too-many-separators'
        isAfterString = false
        if (depth !== memberDepth) break
        if (code === 0x2c) {
          if (name !== undefined) members.push({ name, value: trimmed(text, valueStart, at) })
          name = undefined
        } else if (name === undefined && stringStart !== -1) {
          name = memberName(text, stringStart, stringEnd)
          valueStart = at + 1
        }
        break
      default:
        // At the top level this is a number, a word, or no JSON at all: the parser reads one value and stops.
        if (depth === 0 && code > 0x20) return { members, separators }
        if (++idle % NEAR === 0) at = find(STRUCTURE, text, at + 1) - 1
    }
  }
  return { members, separators }
}

const ESCAPE_OR_END = /["\\]/g

/** Where escapes are denser than this, the engine's search would stop at each of them. */
const ESCAPES_NEAR_MAX = 2

/** Past the closing quote of the string that opens at `from`; the end of the text when it never closes. */
export function skipString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length) {
    const near = Math.min(text.length, at + NEAR)
    let escapes = 0
    for (; at < near; at++) {
      const code = text.charCodeAt(at)
      if (code === 0x22) return at + 1
      if (code === 0x5c) {
        at++
        escapes++
      }
    }
    if (escapes <= ESCAPES_NEAR_MAX) at = find(ESCAPE_OR_END, text, at)
  }
  return text.length
}

/** Where the pattern's next match from `from` on is; the end of the text when there is none. */
function find(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex - 1 : text.length
}

/** Printable ASCII without a backslash: the inside of such a literal is the name itself. */
const PLAIN = /^[ -[\]-~]*$/

/** The name that the string literal in `[start, end)` stands for. */
export function memberName(text: string, start: number, end: number): string {
  const inside = text.slice(start + 1, end - 1)
  if (PLAIN.test(inside)) return inside
  try {
    return String(JSON.parse(decode(text.slice(start, end))))
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
