/** Streams as servers of the chat format really send them, one for each trap, and both ways to read them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChatDialect } from '../../../../../src/core/chat-dialect.ts'
import { chatFormat } from '../../../../../src/core/formats/chat/format.ts'
import { NativeStream } from '../../../../../src/core/formats/chat/reverse/native-stream.ts'
import type { Observation } from '../../../../../src/core/native/observation.ts'
import { finalUsage, partialUsage } from '../../../../../src/core/native/observation.ts'
import { NativeReader } from '../../../../../src/core/native/reader.ts'
import { Refusal } from '../../../../../src/core/refusal.ts'
import { type ExpectedUsage, GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../../../support/golden.ts'
import { inOnePiece } from '../../../../support/written.ts'
import { call, STAMP } from '../chat-call.ts'

export const CHAT_DIALECT: ChatDialect = {
  reasoning: 'auto',
  maxTokensField: 'max_tokens',
  streamUsage: true,
  dropFields: [],
  passFields: [],
}
export const CHAT_MODEL = { ...GOLDEN_MODEL, isNative: false, chat: [CHAT_DIALECT] }

type Recording = Readonly<{ name: string; folder: string; upstream: Uint8Array; usage: ExpectedUsage }>

export function recordings(): readonly Recording[] {
  const root = join(import.meta.dir, 'recordings')
  return readdirSync(root).map((name) => {
    const folder = join(root, name)
    return {
      name,
      folder,
      upstream: new Uint8Array(readFileSync(join(folder, 'upstream.sse'))),
      usage: JSON.parse(readFileSync(join(folder, 'usage.json'), 'utf8')) as ExpectedUsage,
    }
  })
}

/** The native stream that it amounts to. */
export function asNative(chunks: readonly Uint8Array[], reasoning: ChatDialect['reasoning'] = 'auto'): string {
  const stream = new NativeStream({ reasoning, id: 'msg_0190' })
  return Buffer.concat([...chunks.map((chunk) => stream.push(chunk)), stream.end('ended')]).toString('utf8')
}

const NO_SINK = { delta: () => undefined, event: () => undefined, ignored: () => undefined }

const counted = (observation: Observation, end: ExpectedUsage['end']): ExpectedUsage => ({
  ...(end === 'complete' ? finalUsage(observation, GOLDEN_BOUNDS) : partialUsage(observation, GOLDEN_BOUNDS)),
  stopReason: observation.stopReason ?? null,
  end,
})

/** What our own reader of native streams bills of it. */
export function billedAsNative(chunks: readonly Uint8Array[]): ExpectedUsage {
  const reader = new NativeReader(NO_SINK, GOLDEN_MODEL)
  reader.push(Buffer.from(asNative(chunks)))
  reader.end('ended')
  const { state, observation } = reader
  if (state === 'reading') throw new Error('the stream did not end')
  return counted(observation, state instanceof Refusal ? state.name : state)
}

export type PassedOn = Readonly<{ text: string; billed: ExpectedUsage; now: string }>

/** What a chat client gets of it, and what is billed. */
export function passedOn(
  chunks: readonly Uint8Array[],
  includesUsageChunk = false,
  reasoning: ChatDialect['reasoning'] = 'auto',
): PassedOn {
  const transcoder = chatFormat.transcoder({ ...call({ includesUsageChunk }), model: CHAT_MODEL }, STAMP)
  transcoder.hears('strict', false, { reasoning })
  const out: Uint8Array[] = []
  for (const step of [...chunks.map((chunk) => () => transcoder.push(chunk)), () => transcoder.end('ended')]) {
    const { now, last, fault } = step()
    if (now !== undefined) out.push(inOnePiece(now))
    if (last === undefined && fault === undefined) continue
    const before = Buffer.concat(out).toString('utf8')
    const end = fault === undefined ? inOnePiece(last) : transcoder.fail(fault)
    return {
      now: before,
      text: before + Buffer.from(end).toString('utf8'),
      billed: counted(transcoder.observation, fault?.name ?? 'complete'),
    }
  }
  throw new Error('the stream did not end')
}
