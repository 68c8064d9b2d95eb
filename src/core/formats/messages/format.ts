/** The messages format: the vendor's own, passed through. Rules: contract.md "Messages request", "Messages answer"; messages.md "Pass-through". */

import type { Body } from '../../body.ts'
import type { Call, Format, ReadContext } from '../../format.ts'
import type { Refusal } from '../../refusal.ts'
import { type MessagesEcho, readMessages, readShaped } from './request.ts'
import { respond } from './response.ts'
import { checkShape } from './shape.ts'
import { MessagesTranscoder } from './stream.ts'

export const messagesFormat: Format<MessagesEcho> = {
  name: 'messages',
  read: readMessages,
  respond,
  transcoder: ({ model, bounds, includesCost }) => new MessagesTranscoder(model, bounds, includesCost),
}

/**
 * `POST /v1/messages/count_tokens`: the same request without what only an answer needs. Its bounds are not used: counting is free.
 * Rules: messages.md "Refused fields".
 */
export const readCountTokens = (body: Body, context: ReadContext): Call<MessagesEcho> | Refusal =>
  checkShape(body.json) ?? readShaped(body, context)
