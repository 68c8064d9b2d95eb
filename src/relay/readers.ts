/**
 * The readers of request bodies, by name, since a name crosses threads and a function does not. Pure: they look up everything else in their context. Rules:
 * house.md "One request".
 */

import type { Body } from '../core/body.ts'
import type { Call, ReadContext } from '../core/format.ts'
import { chatFormat } from '../core/formats/chat/format.ts'
import { messagesFormat, readCountTokens } from '../core/formats/messages/format.ts'
import { responsesFormat } from '../core/formats/responses/format.ts'
import { Refusal } from '../core/refusal.ts'
import { capOf, withinCap } from '../core/request-cap.ts'
import { tagOf } from '../core/spend-tag.ts'
import { withReach } from './reach.ts'

export type Reader = (body: Body, context: ReadContext) => Call<unknown> | Refusal

/** The formats, by the same names. */
export const FORMATS = { messages: messagesFormat, chat: chatFormat, responses: responsesFormat } as const

const reaching =
  (read: Reader): Reader =>
  (body, context) => {
    const cap = capOf(context)
    if (cap instanceof Refusal) return cap
    const tag = tagOf(context.headers, context.tagsUserIds ? body.json : undefined)
    if (tag instanceof Refusal) return tag
    const call = read(body, context)
    const reached = call instanceof Refusal ? call : withReach(tag === undefined ? call : { ...call, tag })
    return reached instanceof Refusal || cap === undefined ? reached : withinCap(reached, cap)
  }

export const READERS = {
  messages: reaching(messagesFormat.read),
  chat: reaching(chatFormat.read),
  responses: reaching(responsesFormat.read),
  countTokens: readCountTokens,
} as const satisfies Record<string, Reader>

export type ReaderName = keyof typeof READERS
