/**
 * Writes a call for each kind of upstream that its model has. A call that the chat format cannot express is refused, unless a native upstream can serve it. Rules:
 * openai.md "Pools", "Native requests", "Thinking".
 */

import type { Call } from '../core/format.ts'
import { chatBodiesOf } from '../core/formats/chat/reverse/request.ts'
import { withoutOwnThinking } from '../core/native/own-thinking.ts'
import { Refusal } from '../core/refusal.ts'

export function withReach<Echo>(call: Call<Echo>): Call<Echo> | Refusal {
  const { model } = call
  if (model.chat.length === 0) return model.mayMeetOwnThinking === true ? asNative(call) : call
  // The schema goes: it may be large, and an answer takes minutes.
  const { strictSchema, ...kept } = call
  const { body, bounds } = kept
  const chat = kept.chat ?? chatBodiesOf({ body, model, outputTokensMax: bounds.outputTokensMax, strictSchema })
  if (chat instanceof Refusal) return model.isNative ? asNative(kept) : chat
  const told = model.isNative ? asNative(kept) : { ...kept, body: new Uint8Array() }
  const bodyBytes = Math.max(told.bounds.bodyBytes, ...chat.map((sent) => sent.body.byteLength))
  return { ...told, chat, bounds: { ...told.bounds, bodyBytes } }
}

function asNative<Echo>(call: Call<Echo>): Call<Echo> {
  const { body, routing } = call
  const native = withoutOwnThinking({ body, modelAt: routing.modelAt })
  return native.body === body ? call : { ...call, body: native.body, routing: { ...routing, modelAt: native.modelAt } }
}
