/** What the last 30 days' requests would have cost under the file that a reload would read, as far as the bounded work gets. Rules: money.md "What if"; pages.md "Catalog". */

import type { Model } from '../../core/catalog.ts'
import { type Picos, picos, toExactUsdText } from '../../core/money.ts'
import { differenceOf, type Repriced, RepricedSums } from '../../core/reprice.ts'
import { DAY_MS, isoOrNull, isoTime } from '../../core/utc.ts'
import { LOOKED_AT_MAX } from '../../ledger/reading/page.ts'
import type { Site } from '../site.ts'
import { refuseUnread } from './unread.ts'

const DAYS = 30
const PARTS_MAX = 20
const ACCOUNTS_SHOWN_MAX = 100

/** `problems`: mistakes of the file, because of which no request was read. `cut_at`: the time of the last request that was read, where there are more. */
export async function whatIf({ world, readConfig }: Pick<Site, 'world' | 'readConfig'>, personId: string) {
  const to = world.clock.now()
  const from = to - DAYS * DAY_MS
  const config = readConfig()
  if ('problems' in config) return documentOf(new RepricedSums(), { from, to, cutAt: null, problems: config.problems })
  const read = await sumsOf(world.reports, `person:${personId}`, { prices: pricesOf(config.catalog.models), from, to })
  return read instanceof Response ? read : documentOf(read.sums, { from, to, cutAt: read.cutAt, problems: [] })
}

/** The prices of the models, which are all that the reading thread needs of them. */
const pricesOf = (models: ReadonlyMap<string, Model>) =>
  new Map([...models].map(([id, { rates, levels }]) => [id, { rates, levels }] as const))

type Asked = Readonly<{ prices: ReturnType<typeof pricesOf>; from: number; to: number }>

async function sumsOf(reports: Site['world']['reports'], client: string, asked: Asked) {
  const sums = new RepricedSums()
  let after: string | undefined
  for (let parts = 1; ; parts++) {
    const place = after === undefined ? {} : { after }
    const part = await reports.ask<'repriced'>(client, { kind: 'repriced', ...asked, limit: LOOKED_AT_MAX, ...place })
    if (typeof part === 'string') return refuseUnread(part)
    sums.add(part.rows)
    if (part.next === null) return { sums, cutAt: null }
    if (parts === PARTS_MAX) return { sums, cutAt: part.earliestAt }
    after = part.next
  }
}

type Said = Readonly<{ from: number; to: number; cutAt: number | null; problems: readonly Readonly<{ path: string; message: string }>[] }>

function documentOf(sums: RepricedSums, { from, to, cutAt, problems }: Said) {
  const accounts = sums.accounts()
  return {
    problems: [...problems],
    from: isoTime(from),
    to: isoTime(to),
    cut_at: isoOrNull(cutAt),
    total: sumDocument(sums.total),
    models: sums.models().map(({ modelId, ...sum }) => ({ model: modelId, ...sumDocument(sum) })),
    accounts: accounts
      .slice(0, ACCOUNTS_SHOWN_MAX)
      .map(({ accountId, accountName, ...sum }) => ({ account_id: accountId, name: accountName, ...sumDocument(sum) })),
    more_accounts: Math.max(0, accounts.length - ACCOUNTS_SHOWN_MAX),
  }
}

const usd = (amount: Picos): string => toExactUsdText(amount)

const sumDocument = (sum: Repriced) => ({
  receipts: sum.charged.receipts,
  charged_usd: usd(sum.charged.nowPicos),
  repriced_usd: usd(sum.charged.thenPicos),
  difference_usd: usd(differenceOf(sum)),
  waived: {
    receipts: sum.waived.receipts,
    waived_usd: usd(sum.waived.nowPicos),
    repriced_usd: usd(sum.waived.thenPicos),
    difference_usd: usd(picos(sum.waived.thenPicos - sum.waived.nowPicos)),
  },
  missing: { receipts: sum.missing.receipts, charged_usd: usd(sum.missing.nowPicos) },
})
