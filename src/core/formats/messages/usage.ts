/**
 * The four token counters that clients of messages compute cost from: a counter that the upstream left out of its `usage` is added, and one that it contradicts later is
 * corrected, so that the figures shown are those billed. Rules: contract.md "Usage"; money.md "Usage that is billed"; messages.md "What an upstream forgets".
 */

import { type ByteString, encode, encodeJson } from '../../bytes/byte-string.ts'
import type { Member } from '../../bytes/json-scan.ts'
import { membersOf, type Span } from '../../bytes/json-scan.ts'
import type { Edit } from '../../bytes/splice.ts'
import type { CostFields } from '../../native/shown-cost.ts'
import { cacheCreationOf, type ReportedUsage } from '../../usage.ts'

const NAMES = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'] as const
type CounterName = (typeof NAMES)[number]
type Counters = Readonly<Record<CounterName, number>>

/** The billed figures as native counters. Hidden iterations are not part of them: in the native `usage` they stand beside the counters. */
export const countersOf = (reported: ReportedUsage): Counters => ({
  input_tokens: reported.input ?? 0,
  cache_creation_input_tokens: cacheCreationOf(reported),
  cache_read_input_tokens: reported.cacheRead ?? 0,
  output_tokens: reported.output ?? 0,
})

/** The counters shown before the first `usage`: none, so that every counter must be written. */
export const NOTHING_SHOWN: Counters = {
  input_tokens: Number.NaN,
  cache_creation_input_tokens: Number.NaN,
  cache_read_input_tokens: Number.NaN,
  output_tokens: Number.NaN,
}

export const isShown = (shown: Counters, billed: Counters): boolean => NAMES.every((name) => shown[name] === billed[name])

/**
 * Edits that make the `usage` of the object `holder` say `billed`. A counter that the client has already been shown may be absent, except for
 * `output_tokens`, without which clients fail.
 */
export function usageEdits(text: ByteString, holder: ObjectAt, billed: Counters, shown: Counters): readonly Edit[] {
  const isNeeded = (name: CounterName): boolean => name === 'output_tokens' || shown[name] !== billed[name]
  const usage = holder.members.findLast(({ name }) => name === 'usage')
  const missing = NAMES.filter(isNeeded)
  if (usage === undefined) return [insertion(holder, `"usage":${objectOf(missing, billed)}`)]
  if (text.charCodeAt(usage.value.start) !== BRACE) return [{ ...usage.value, text: encode(objectOf(missing, billed)) }]
  return counterEdits(text, objectAt(text, usage.value), billed, isNeeded)
}

const BRACE = 0x7b

function counterEdits(text: ByteString, usage: ObjectAt, billed: Counters, isNeeded: (name: CounterName) => boolean): readonly Edit[] {
  const edits: Edit[] = []
  const absent: string[] = []
  for (const name of NAMES) {
    const value = usage.members.findLast((member) => member.name === name)?.value
    if (value === undefined) {
      if (isNeeded(name)) absent.push(`"${name}":${billed[name]}`)
    } else if (isWrong(text.slice(value.start, value.end), billed[name], isNeeded(name)))
      edits.push({ ...value, text: encodeJson(billed[name]) })
  }
  return absent.length === 0 ? edits : [...edits, insertion(usage, absent.join(','))]
}

const isWrong = (literal: string, billed: number, isNeeded: boolean): boolean =>
  literal === 'null' ? isNeeded : Number(literal) !== billed

const objectOf = (names: readonly CounterName[], billed: Counters): string =>
  `{${names.map((name) => `"${name}":${billed[name]}`).join(',')}}`

/** Inserts members at the end of an object. */
const insertion = ({ span, members }: ObjectAt, text: string): Edit => ({
  start: span.end - 1,
  end: span.end - 1,
  text: encode(`${members.length === 0 ? '' : ','}${text}`),
})

/** Edits that add the cost to the `usage` of the object `holder`, which must have one. */
export function costEdits(text: ByteString, holder: ObjectAt, cost: CostFields): readonly Edit[] {
  const place = holder.members.findLast(({ name }) => name === 'usage')?.value
  if (place === undefined || text.charCodeAt(place.start) !== BRACE) return []
  const usage = objectAt(text, place)
  const edits: Edit[] = []
  const absent: string[] = []
  for (const [name, amount] of Object.entries(cost)) {
    const value = usage.members.findLast((member) => member.name === name)?.value
    if (value === undefined) absent.push(`"${name}":${JSON.stringify(amount)}`)
    else edits.push({ ...value, text: encodeJson(amount) })
  }
  return absent.length === 0 ? edits : [...edits, insertion(usage, absent.join(','))]
}

/** An object's braces within a piece of text. */
export function jsonSpan(text: ByteString, { start, end }: Span): Span {
  const from = text.indexOf('{', start)
  return { start: from, end: text.lastIndexOf('}', end - 1) + 1 }
}

/** An object in a text and its members, their spans in the whole text. */
export type ObjectAt = Readonly<{ span: Span; members: readonly Member[] }>

export const objectAt = (text: ByteString, span: Span): ObjectAt => ({
  span,
  members: membersOf(text.slice(span.start, span.end)).map(({ name, value }) => ({
    name,
    value: { start: value.start + span.start, end: value.end + span.start },
  })),
})
