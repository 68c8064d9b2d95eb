/** The client's body for a whole answer, by the format that its upstream spoke. Rules: native.md "Answer"; openai.md "Chat answers". */

import type { ReasoningSetting } from '../core/chat-dialect.ts'
import type { Call, Format, Stamp } from '../core/format.ts'
import { messageOf, readCompletion } from '../core/formats/chat/reverse/completion.ts'
import type { NativeError } from '../core/native/error.ts'
import { type NativeMessage, readMessage, usageOfUnusable } from '../core/native/message.ts'
import type { Usage } from '../core/usage.ts'

/** A body that is no answer: `error` is the error that it holds, `usage` what it costs nevertheless. */
export type NoAnswer = Readonly<{ usage: Usage | undefined; error?: NativeError }>
export type MadeAnswer = Readonly<{ message: NativeMessage; bytes: Uint8Array }>

export type Answering<Echo> = Readonly<{
  format: Format<Echo>
  call: Call<Echo>
  stamp: Stamp
  /** Undefined where the upstream did not speak chat. */
  chat: Readonly<{ reasoning: ReasoningSetting }> | undefined
  /** See `Reply`. */
  addedPrefix: string | undefined
}>

export function answerOf<Echo>(bytes: Uint8Array, { format, call, stamp, chat, addedPrefix }: Answering<Echo>): MadeAnswer | NoAnswer {
  if (chat === undefined) {
    const message = readMessage(bytes, addedPrefix)
    return message === undefined ? { usage: usageOfUnusable(bytes) } : { message, bytes: format.respond(message, call, stamp) }
  }
  const completion = readCompletion(bytes)
  if (completion === undefined) return NONE
  const { reasoning } = chat
  const made = messageOf(completion, { reasoning, id: stamp.requestId.replace(/^req_/, 'msg_') })
  if (made === undefined) return NONE
  if ('error' in made) return { usage: undefined, error: made.error }
  const passed = format.pass?.(completion.text, made, reasoning, call, stamp)
  return { message: made, bytes: passed ?? format.respond(made, call, stamp) }
}

const NONE: NoAnswer = { usage: undefined }
