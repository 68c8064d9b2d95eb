/**
 * The most that one request may cost, as set by its client or its plan: `max_tokens` is lowered until the request's worst case fits, in each body that an upstream may get.
 * Rules: money.md "Caps of a request"; requests.md "Exact bytes".
 */

import { encodeJson, fromBytes } from './bytes/byte-string.ts'
import { membersOf } from './bytes/json-scan.ts'
import { edited, placeAfter } from './bytes/splice.ts'
import type { Call, ReadContext } from './format.ts'
import { type Picos, parseUsd, toExactUsdText, ZERO } from './money.ts'
import { holdFor, outputTokensWithin } from './pricing.ts'
import { invalid, type Refusal } from './refusal.ts'

export const MAX_COST_HEADER = 'x-max-cost-usd'
const PLAN_SETTING = 'max_request_usd'

/** `name`: the header or setting that set the cap. */
type RequestCap = Readonly<{ name: typeof MAX_COST_HEADER | typeof PLAN_SETTING; picos: Picos }>

/** The lesser of the header's cap and the plan's; undefined where neither sets one. */
export function capOf({ headers, planCapPicos }: Pick<ReadContext, 'headers' | 'planCapPicos'>): RequestCap | Refusal | undefined {
  const plan = planCapPicos === undefined ? undefined : ({ name: PLAN_SETTING, picos: planCapPicos } as const)
  const header = headers.get(MAX_COST_HEADER)
  if (header === null) return plan
  const picos = parseUsd(header)
  if (picos === undefined || picos < ZERO) return invalid(MAX_COST_HEADER, 'Input should be an amount of USD such as 0.05')
  return plan !== undefined && plan.picos < picos ? plan : { name: MAX_COST_HEADER, picos }
}

/** The call with `max_tokens` lowered so that its worst case fits the cap; the call itself where it fits already. */
export function withinCap<Echo>(call: Call<Echo>, { name, picos }: RequestCap): Call<Echo> | Refusal {
  const { model, bounds, thinkingTokens = 0 } = call
  if (holdFor(bounds, model, model.contextWindow) <= picos) return call
  const usd = toExactUsdText(picos)
  const tokens = outputTokensWithin(picos, bounds, model, model.contextWindow)
  if (tokens < 1) {
    const least = toExactUsdText(holdFor({ ...bounds, outputTokensMax: Math.min(1, bounds.outputTokensMax) }, model, model.contextWindow))
    return invalid(name, `a request may cost ${usd} USD, and with the shortest answer this one can cost ${least} USD`)
  }
  if (tokens <= thinkingTokens)
    return invalid(name, `${tokens} tokens of output fit into ${usd} USD, and ${thinkingTokens} tokens of thinking need more`)
  // A `max_tokens` in exponent form may be shorter than the lower number: the body is then longer, so it is lowered once more by a few tokens.
  return withinCap(lowered(call, tokens), { name, picos })
}

function lowered<Echo>(call: Call<Echo>, tokens: number): Call<Echo> {
  const { body, modelAt } = withNumber({ body: call.body, modelAt: call.routing.modelAt }, 'max_tokens', tokens)
  const chat = call.chat?.map((one, index) => withNumber(one, call.model.chat[index]?.maxTokensField ?? 'max_tokens', tokens))
  const bodyBytes = Math.max(call.bounds.bodyBytes, body.byteLength, ...(chat ?? []).map((one) => one.body.byteLength))
  return {
    ...call,
    body,
    routing: { ...call.routing, modelAt },
    ...(chat === undefined ? {} : { chat }),
    bounds: { ...call.bounds, bodyBytes, outputTokensMax: tokens },
    maxTokensApplied: tokens,
  }
}

type Placed = Readonly<{ body: Uint8Array; modelAt: number }>

/** The body with a new value for this member, and every other byte as it was. A body without the member stays: where no upstream takes this kind of body, it is empty. */
function withNumber({ body, modelAt }: Placed, field: string, value: number): Placed {
  const place = membersOf(fromBytes(body)).findLast(({ name }) => name === field)?.value
  if (place === undefined) return { body, modelAt }
  const edits = [{ ...place, text: encodeJson(value) }]
  return { body: edited(body, edits), modelAt: placeAfter(edits, modelAt) }
}
