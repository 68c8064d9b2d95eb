/** For each shape, the largest body that counts as light, so that the loop itself reads it, and what that costs. The figures of `core/reading-cost.ts` come from here. */

import { parseBody } from '../src/core/body.ts'
import { checkJsonBounds } from '../src/core/bytes/json-scan.ts'
import type { Format } from '../src/core/format.ts'
import { chatFormat } from '../src/core/formats/chat/format.ts'
import { messagesFormat } from '../src/core/formats/messages/format.ts'
import { responsesFormat } from '../src/core/formats/responses/format.ts'
import { isLight } from '../src/core/reading-cost.ts'
import { Refusal } from '../src/core/refusal.ts'
import { sha256Hex } from '../src/relay/read-context.ts'
import { GOLDEN_MODEL } from '../test/support/golden.ts'
import { threadMsOf } from '../test/support/thread-cpu.ts'

type Json = Readonly<Record<string, unknown>>
/** `make`: makes a body with so many of the shape's elements. */
type Shape = Readonly<{ name: string; format: Format<unknown>; make: (count: number) => Json }>

const CONTEXT = { headers: new Headers(), find: () => GOLDEN_MODEL, recall: () => 'unknown' as const, sha256Hex }

const times = <Value>(count: number, make: (index: number) => Value): Value[] => Array.from({ length: count }, (_, index) => make(index))
const user = (content: unknown): Json => ({ role: 'user', content })
const said = (count: number): Json[] => times(count, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' }))
const argued = (text: string): Json[] => [
  user('u'),
  { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }] },
  { role: 'tool', tool_call_id: 'c', content: 'r' },
]
const calls = (count: number): Json[] =>
  times(count, (index) => [
    { role: 'assistant', tool_calls: [{ id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    { role: 'tool', tool_call_id: `c${index}`, content: 'r' },
  ]).flat()
const flatCalls = (count: number): Json[] =>
  times(count, (index) => [
    { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: `c${index}`, output: 'r' },
  ]).flat()
const fields = (count: number): Json => Object.fromEntries(times(count, (index) => [`f${index}`, 1]))

const [chat, messages, responses] = [chatFormat, messagesFormat, responsesFormat] as unknown as Format<unknown>[]
const shapes = (format: Format<unknown> | undefined, made: Readonly<Record<string, (count: number) => Json>>): Shape[] =>
  format === undefined ? [] : Object.entries(made).map(([name, make]) => ({ name: `${name}, ${format.name}`, format, make }))

const SHAPES: readonly Shape[] = [
  ...shapes(chat, {
    text: (count) => ({ messages: [user('x'.repeat(count))] }),
    'letters that are not ASCII': (count) => ({ messages: [user('é'.repeat(count))] }),
    escapes: (count) => ({ messages: [user('"'.repeat(count))] }),
    messages: (count) => ({ messages: said(count) }),
    'tool calls': (count) => ({ messages: [user('u'), ...calls(count)] }),
    tools: (count) => ({ messages: [user('u')], tools: times(count, (index) => ({ type: 'function', function: { name: `t${index}` } })) }),
    'arguments of objects': (count) => ({ messages: argued(JSON.stringify(times(count, (index) => ({ [`k${index}`]: [] })))) }),
    fields: (count) => ({ messages: [user('u')], ...fields(count) }),
  }),
  ...shapes(messages, {
    text: (count) => ({ messages: [user('x'.repeat(count))] }),
    messages: (count) => ({ messages: said(count) }),
    fields: (count) => ({ messages: [user('u')], ...fields(count) }),
    'empty arrays': (count) => ({ messages: [user('u')], metadata: { x: times(count, () => []) } }),
  }),
  ...shapes(responses, {
    'letters that are not ASCII': (count) => ({ input: [user('é'.repeat(count))] }),
    messages: (count) => ({ input: said(count) }),
    'tool calls': (count) => ({ input: [user('u'), ...flatCalls(count)] }),
    tools: (count) => ({ input: 'u', tools: times(count, (index) => ({ type: 'function', name: `t${index}` })) }),
  }),
]

const bodyOf = ({ make }: Shape, count: number): Uint8Array =>
  new Uint8Array(Buffer.from(JSON.stringify({ model: GOLDEN_MODEL.id, max_tokens: 10, ...make(count) })))

function largestLight(shape: Shape): Uint8Array {
  let [low, high] = [1, 600_000]
  while (high - low > low / 100) {
    const middle = (low + high) >> 1
    if (isLight(bodyOf(shape, middle))) low = middle
    else high = middle
  }
  return bodyOf(shape, low)
}

function read({ format }: Shape, bytes: Uint8Array): void {
  const parsed = parseBody(bytes)
  if (!(parsed instanceof Refusal)) format.read(parsed, CONTEXT)
}

export function printLightBodies(rounds: number): void {
  console.log('the largest bodies that the loop reads itself: best of the rounds, and the first of all')
  for (const shape of SHAPES) {
    const bytes = largestLight(shape)
    const scanned = checkJsonBounds(Buffer.from(bytes).toString(), Number.POSITIVE_INFINITY)
    const separators = typeof scanned === 'string' ? scanned : String(scanned.separators)
    const tookMs = times(rounds + 1, () => threadMsOf(() => read(shape, bytes)))
    const [first = 0, ...later] = tookMs
    const size = `${(bytes.byteLength / 1e3).toFixed(0)} kB`
    console.log(
      `${shape.name.padEnd(38)}${size.padStart(9)}${separators.padStart(8)} separators${`${Math.min(...later).toFixed(2)} ms`.padStart(10)}${`${first.toFixed(2)} ms`.padStart(10)}`,
    )
  }
}
