/**
 * A request, a day and a sum as their customer reads them: numbers with 6 decimals for people to read, and beside each the text with every digit. Rules: requests.md
 * "Usage"; money.md "Unit", "Charges".
 */

import { type TUnsafe, Type } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import { type Picos, sumPicos, toExactUsdText, usdFields, ZERO } from '../core/money.ts'
import { type PricedLine, pricedLines } from '../core/priced-lines.ts'
import type { Usage } from '../core/usage.ts'
import { dayText } from '../core/utc.ts'
import { priceLevelOf } from '../ledger/columns/call-fields.ts'
import { customerFields } from '../ledger/columns/receipt.ts'
import type { AccountReceipt } from '../ledger/reading/account-reports.ts'
import type { DayPage } from '../ledger/reading/reports.ts'
import { CUSTOMER_FIELDS } from './receipt-fields.ts'
import { dayCursorOf } from './usage-query.ts'

const usd = (description: string) => t.Number({ description: `USD, 6 decimals: ${description}` })
const exact = (description: string) => t.String({ pattern: '^-?\\d+(\\.\\d+)?$', description: `USD, every digit: ${description}` })

const COSTS = {
  cost_usd: usd('what was charged'),
  cost_usd_exact: exact('what was charged'),
  waived_usd: usd('the price of what was not charged'),
  waived_usd_exact: exact('the price of what was not charged'),
}

const TOKENS = t.Object(
  {
    input_tokens: Type.Integer({ description: 'Without cached ones' }),
    output_tokens: Type.Integer(),
    cache_read_input_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Integer({ description: 'Written to the cache, for 5 minutes or an hour' }),
    cache_creation: t.Object({ ephemeral_5m_input_tokens: Type.Integer(), ephemeral_1h_input_tokens: Type.Integer() }),
    server_tool_uses: Type.Integer({ description: 'Uses of tools that run on the model’s side' }),
  },
  { title: 'BilledUsage', description: 'What the cost was computed from' },
)

/** Why nothing was charged, in words for customers. */
const FREE = {
  upstream_failed: 'The provider failed before the answer was complete. What had been written is not charged.',
  gateway_stopped: 'The gateway had to stop while the answer ran. What had been written is not charged.',
  gateway_died: 'The gateway’s process ended while the answer ran. What had been written is not charged.',
  nothing_used: 'No token was read or written.',
  free_of_charge: 'What was used has no price.',
} as const
type Free = keyof typeof FREE

/** Null is allowed as one of the words, which the type of Elysia’s function does not say. */
const NOT_CHARGED = t.UnionEnum([...(Object.keys(FREE) as [Free]), null as unknown as Free], {
  description: 'Why nothing was charged; null where something was',
}) as unknown as TUnsafe<Free | null>

const PRICE_LEVEL = t.Union(
  [
    t.Object({
      above_prompt_tokens: Type.Integer({ description: 'The prices of the whole request are those of prompts above so many tokens' }),
      prompt_tokens: Type.Integer({ description: 'All that was read, cached or not, or written to the cache' }),
    }),
    t.Null(),
  ],
  { description: 'Which of the model’s `pricing.levels` counted, and why; null where it was none' },
)

const REQUEST_FIELDS = {
  object: t.Literal('usage.request'),
  ...CUSTOMER_FIELDS,
  usage: TOKENS,
  price_level: PRICE_LEVEL,
  ...COSTS,
  not_charged: NOT_CHARGED,
}

export const REQUEST = t.Object(REQUEST_FIELDS, { title: 'UsageRequest', description: 'A request of the key' })

const LINE = t.Object(
  {
    item: t.UnionEnum([
      'input_tokens',
      'output_tokens',
      'cache_read_input_tokens',
      'ephemeral_5m_input_tokens',
      'ephemeral_1h_input_tokens',
      'server_tool_uses',
    ]),
    count: Type.Integer(),
    rate_usd_exact: exact('the price of one'),
    price_usd: usd('count × rate'),
    price_usd_exact: exact('count × rate'),
  },
  { title: 'UsageLine', description: 'How many of one kind, and what they cost' },
)

export const REQUEST_DETAIL = t.Object(
  {
    ...REQUEST_FIELDS,
    lines: t.Array(LINE, { description: 'Their prices add up to what was charged, or waived' }),
    explanation: t.Union([t.String(), t.Null()], { description: 'Why nothing was charged, as a sentence; null where something was' }),
  },
  { title: 'UsageRequestDetail', description: 'A request of the key and how its cost was computed, at the prices of its time' },
)

export const REQUEST_LIST = t.Object(
  {
    object: t.Literal('list'),
    data: t.Array(REQUEST, { description: 'Newest first, by `settled_at`' }),
    has_more: t.Boolean({ description: 'A page that was filtered may be short, even empty, and have more behind it' }),
    next_cursor: t.Union([t.String(), t.Null()], { description: 'Send it as `cursor` for the next page; null on the last one' }),
  },
  { title: 'UsageRequestList', description: 'A page of the key’s requests' },
)

const DAY = t.Object(
  {
    date: t.String({ format: 'date', description: 'UTC' }),
    model: t.String(),
    requests: Type.Integer(),
    usage: TOKENS,
    ...COSTS,
  },
  { title: 'UsageDay', description: 'What the key used of a model on a day' },
)

export const DAILY = t.Object(
  {
    object: t.Literal('list'),
    from: t.String({ format: 'date' }),
    to: t.String({ format: 'date' }),
    data: t.Array(DAY, { description: 'Newest day first' }),
    total: t.Object({ requests: Type.Integer(), ...COSTS }, { description: 'Of what stands in `data`' }),
    has_more: t.Boolean(),
    next_cursor: t.Union([t.String(), t.Null()], { description: 'Send it as `cursor` for the next page; null on the last one' }),
  },
  { title: 'UsageDaily', description: 'What the key used, by day and model' },
)

export const requestDocument = (receipt: AccountReceipt): Static<typeof REQUEST> => ({
  object: 'usage.request',
  ...customerFields(receipt),
  usage: tokens(receipt.usage),
  price_level: priceLevelOf(receipt),
  ...costs(receipt.costPicos, receipt.waivedPicos),
  not_charged: whyFree(receipt),
})

export function requestDetail(receipt: AccountReceipt): Static<typeof REQUEST_DETAIL> {
  const document = requestDocument(receipt)
  return {
    ...document,
    // A kind of tokens whose count is 0 has no line.
    lines: pricedLines(receipt.usage, receipt.rates)
      .filter(({ count }) => count > 0)
      .map(lineDocument),
    explanation: document.not_charged === null ? null : FREE[document.not_charged],
  }
}

export const dailyDocument = (fromDay: number, toDay: number, { days, hasMore }: DayPage): Static<typeof DAILY> => ({
  object: 'list',
  from: dayText(fromDay),
  to: dayText(toDay),
  data: days.map(({ day, modelId, requests, usage, costPicos, waivedPicos }) => ({
    date: dayText(day),
    model: modelId,
    requests,
    usage: tokens(usage),
    ...costs(costPicos, waivedPicos),
  })),
  total: {
    requests: days.reduce((sum, { requests }) => sum + requests, 0),
    ...costs(sumPicos(...days.map(({ costPicos }) => costPicos)), sumPicos(...days.map(({ waivedPicos }) => waivedPicos))),
  },
  has_more: hasMore,
  next_cursor: hasMore ? dayCursorOf(days.at(-1)) : null,
})

export const tokens = (usage: Usage): Static<typeof TOKENS> => ({
  input_tokens: usage.input,
  output_tokens: usage.output,
  cache_read_input_tokens: usage.cacheRead,
  cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
  cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite5m, ephemeral_1h_input_tokens: usage.cacheWrite1h },
  server_tool_uses: usage.serverToolUses,
})

const costs = (cost: Picos, waived: Picos) => ({ ...usdFields('cost', cost), ...usdFields('waived', waived) })

function whyFree({ costPicos, outcome, usage }: AccountReceipt): Free | null {
  if (costPicos > ZERO) return null
  switch (outcome) {
    case 'fault':
      return 'upstream_failed'
    case 'drain':
      return 'gateway_stopped'
    case 'recovered':
      return 'gateway_died'
    case 'complete':
    case 'deadline':
    case 'leaver':
    case 'cut':
      return Object.values(usage).every((count) => count === 0) ? 'nothing_used' : 'free_of_charge'
  }
}

type UsageLine = Static<typeof LINE>

const ITEMS: Readonly<Record<keyof Usage, UsageLine['item']>> = {
  input: 'input_tokens',
  output: 'output_tokens',
  cacheRead: 'cache_read_input_tokens',
  cacheWrite5m: 'ephemeral_5m_input_tokens',
  cacheWrite1h: 'ephemeral_1h_input_tokens',
  serverToolUses: 'server_tool_uses',
}

const lineDocument = ({ counter, count, ratePicos, pricePicos }: PricedLine): UsageLine => ({
  item: ITEMS[counter],
  count,
  rate_usd_exact: toExactUsdText(ratePicos),
  ...usdFields('price', pricePicos),
})
