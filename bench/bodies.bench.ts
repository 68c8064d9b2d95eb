/**
 * What the heaviest bodies cost the thread: the processor's time of this thread from the bytes to the call for the upstream, against `JSON.parse` of the same
 * body in the same run; what the heaviest bodies cost that the loop itself reads; and what one delta of 8 MB adds to the memory. Run: `bun bench/bodies.bench.ts [rounds]`.
 */

import { join } from 'node:path'
import { parseBody } from '../src/core/body.ts'
import type { Format } from '../src/core/format.ts'
import { chatFormat } from '../src/core/formats/chat/format.ts'
import { messagesFormat } from '../src/core/formats/messages/format.ts'
import { responsesFormat } from '../src/core/formats/responses/format.ts'
import { Refusal } from '../src/core/refusal.ts'
import { sha256Hex } from '../src/relay/read-context.ts'
import { GOLDEN_MODEL } from '../test/support/golden.ts'
import { threadMsOf } from '../test/support/thread-cpu.ts'
import { printLightBodies } from './light-bodies.ts'

const ROUNDS = Number(process.argv[2] ?? 5)
const CONTEXT = { headers: new Headers(), find: () => GOLDEN_MODEL, recall: () => 'unknown' as const, sha256Hex }

type Json = Readonly<Record<string, unknown>>
type Case = Readonly<{ name: string; format: Format<unknown>; body: Uint8Array }>

const times = <Value>(count: number, make: (index: number) => Value): Value[] => Array.from({ length: count }, (_, index) => make(index))
const bytesOf = (json: Json): Uint8Array => Buffer.from(JSON.stringify({ model: GOLDEN_MODEL.id, max_tokens: 10, ...json }))

function onEach(name: string, messages: readonly Json[]): readonly Case[] {
  return [
    { name: `${name}, chat`, format: chatFormat as Format<unknown>, body: bytesOf({ messages }) },
    { name: `${name}, responses`, format: responsesFormat as Format<unknown>, body: bytesOf({ input: messages }) },
    { name: `${name}, messages`, format: messagesFormat as Format<unknown>, body: bytesOf({ messages }) },
  ]
}

const alternating = (count: number): Json[] => times(count, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' }))
const user = (content: string): Json[] => [{ role: 'user', content }]
const CALLS = times(40_000, (index) => `call_${index}`)
const calls: readonly Json[] = [
  { role: 'user', content: 'u' },
  { role: 'assistant', tool_calls: CALLS.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } })) },
  ...CALLS.map((id) => ({ role: 'tool', tool_call_id: id, content: 'r' })),
]
const arrays = `{"x":[${times(113_000, () => '['.repeat(126) + ']'.repeat(126)).join(',')}]}`
const long = 'x'.repeat(32_000_000)

const CASES: readonly Case[] = [
  { name: '14.2 M nested arrays (refused)', format: messagesFormat as Format<unknown>, body: Buffer.from(arrays) },
  ...onEach('240,000 messages (refused)', alternating(240_000)),
  ...onEach('199,990 messages', alternating(199_990)),
  { name: '40,000 calls, chat', format: chatFormat as Format<unknown>, body: bytesOf({ messages: calls }) },
  ...onEach('28 MB of escapes', user('"'.repeat(14_000_000))),
  ...onEach('one string of 32 MB', user(long)),
  { name: 'a user of 32 MB, chat', format: chatFormat as Format<unknown>, body: bytesOf({ messages: user('u'), user: long }) },
]

function read({ format, body }: Case): void {
  const parsed = parseBody(body)
  if (!(parsed instanceof Refusal)) format.read(parsed, CONTEXT)
}

console.log(`best of ${ROUNDS} rounds after one for warming up, milliseconds of this thread's processor time`)
for (const one of CASES) {
  const text = new TextDecoder().decode(one.body)
  let parseMs = Number.POSITIVE_INFINITY
  let readMs = Number.POSITIVE_INFINITY
  for (let round = -1; round < ROUNDS; round++) {
    const [parse, whole] = [threadMsOf(() => JSON.parse(text)), threadMsOf(() => read(one))]
    if (round < 0) continue
    parseMs = Math.min(parseMs, parse)
    readMs = Math.min(readMs, whole)
  }
  const size = `${(one.body.byteLength / 1e6).toFixed(1)} MB`
  console.log(
    `${one.name.padEnd(38)}${size.padStart(9)}${`${readMs.toFixed(0)} ms`.padStart(9)}  ${(readMs / parseMs).toFixed(1)}x as long as JSON.parse`,
  )
}

printLightBodies(ROUNDS)

const CHILD = join(import.meta.dir, '..', 'test', 'support', 'stream-growth.ts')
for (const { name } of [messagesFormat, chatFormat, responsesFormat]) {
  const { stdout } = Bun.spawnSync([process.execPath, CHILD, name])
  console.log(`${`a delta of 8 MB, ${name}`.padEnd(38)}${`+${Math.round(Number(stdout.toString()))} MiB`.padStart(18)}  resident at most`)
}
