/**
 * Finds what is to be cut out of a native body, in one pass: every byte is looked at once, however deep the paths go. Rules: doors.md "Edits"; requests.md "Exact bytes",
 * "Heavy bodies".
 */

import type { ByteString } from '../bytes/byte-string.ts'
import { memberName, type Span, skipString } from '../bytes/json-scan.ts'

/** What is dropped of an object, by the names of its members: the member itself, fields inside it, or fields of each of its elements. */
export type DroppedFields = ReadonlyMap<string, DroppedField>
type DroppedField = Readonly<{ isWhole: boolean; inside: DroppedFields; each: DroppedFields }>

export type BodyCuts = Readonly<{
  /** Behind the brace that opens the object. */
  openAt: number
  /** No member of the object is left. */
  isEmptied: boolean
  /** `max_tokens` is left among its members. */
  hasMaxTokens: boolean
  /** In order, and apart from each other. */
  spans: readonly Span[]
}>

/** `text`: a JSON object that parsed before. */
export function findCuts(text: ByteString, dropped: DroppedFields): BodyCuts {
  const at = text.indexOf('{')
  const search = new Search(text)
  const { isEmptied } = search.object(at, dropped, (name) => name === 'max_tokens')
  return { openAt: at + 1, isEmptied, hasMaxTokens: search.hasNoted, spans: search.spans }
}

const QUOTE = 0x22
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const BRACE = 0x7b
const BRACE_END = 0x7d
const NOTHING_NOTED = (): boolean => false

type ObjectEnd = Readonly<{ end: number; isEmptied: boolean }>

class Search {
  readonly spans: { start: number; end: number }[] = []
  hasNoted = false
  readonly #text: ByteString

  constructor(text: ByteString) {
    this.#text = text
  }

  /**
   * The object that opens at `open`. A removed member takes the comma before it; removed members at the front take the comma behind them. `isNoted`: says of a name that is
   * left whether its presence is to be noted.
   */
  object(open: number, dropped: DroppedFields, isNoted: (name: string) => boolean = NOTHING_NOTED): ObjectEnd {
    let at = this.#after(open + 1)
    let keptEnd = -1
    let frontEnd = -1
    while (at < this.#text.length && this.#text.charCodeAt(at) === QUOTE) {
      const nameEnd = skipString(this.#text, at)
      const name = memberName(this.#text, at, nameEnd)
      const valueAt = this.#after(this.#after(nameEnd) + 1)
      const field = dropped.get(name)
      if (field?.isWhole === true) {
        const end = this.#skip(valueAt)
        const isLast = this.#text.charCodeAt(this.#after(end)) !== COMMA
        if (keptEnd !== -1) this.#cut(keptEnd, end)
        else frontEnd = isLast ? end : this.#after(end) + 1
        keptEnd = keptEnd === -1 ? -1 : end
        at = this.#next(end)
        continue
      }
      if (keptEnd === -1 && frontEnd !== -1) this.#cut(open + 1, frontEnd)
      this.hasNoted ||= isNoted(name)
      keptEnd = field === undefined ? this.#skip(valueAt) : this.#inside(valueAt, field)
      at = this.#next(keptEnd)
    }
    if (keptEnd === -1 && frontEnd !== -1) this.#cut(open + 1, frontEnd)
    return { end: at + 1, isEmptied: keptEnd === -1 }
  }

  /** A value of which fields are dropped; returns its end. */
  #inside(at: number, { inside, each }: DroppedField): number {
    const code = this.#text.charCodeAt(at)
    if (code === BRACE && inside.size > 0) return this.object(at, inside).end
    return code === BRACKET && each.size > 0 ? this.#array(at, each) : this.#skip(at)
  }

  #array(open: number, each: DroppedFields): number {
    let at = this.#after(open + 1)
    while (at < this.#text.length && this.#text.charCodeAt(at) !== BRACKET_END)
      at = this.#next(this.#text.charCodeAt(at) === BRACE ? this.object(at, each).end : this.#skip(at))
    return at + 1
  }

  #cut(start: number, end: number): void {
    const last = this.spans.at(-1)
    if (last?.end === start) last.end = end
    else this.spans.push({ start, end })
  }

  /** Where the next value or name stands, or the closing bracket: behind the value that ends here, and its comma. */
  #next(end: number): number {
    const at = this.#after(end)
    return this.#text.charCodeAt(at) === COMMA ? this.#after(at + 1) : at
  }

  /** Past the white space. */
  #after(from: number): number {
    let at = from
    while (this.#text.charCodeAt(at) <= 0x20) at++
    return at
  }

  /** Past the value. */
  #skip(from: number): number {
    const text = this.#text
    let depth = 0
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        at = skipString(text, at) - 1
        if (depth === 0) return at + 1
      } else if (code === BRACE || code === BRACKET) depth++
      else if (code === BRACE_END || code === BRACKET_END) {
        if (depth === 0) return at
        if (--depth === 0) return at + 1
      } else if (depth === 0 && (code === COMMA || code <= 0x20)) return at
    }
    return text.length
  }
}
