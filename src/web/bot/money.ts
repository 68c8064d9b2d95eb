/** What the bot says of an account's money: its balance and how long it lasts, and what was spent. Rules: pages.md "Telegram", "Spend"; money.md "Runway". */

import { dayAt, dayText } from '../../core/utc.ts'
import type { Running } from '../api/running.ts'
import { spendReader } from '../api/spend.ts'
import { spendDocument } from '../api/spend-document.ts'
import { summaryReader } from '../api/summary.ts'
import { runwayWords } from '../cabinet/pages/spend.words.ts'
import { showUsd, usdNumber } from '../parts/show-usd.ts'
import { type Said, saidOf, say } from './said.ts'
import type { BotSite, Turn } from './turn.ts'

const BAR_CHARS = 12
const NAME_CHARS = 20
/** The models that are shown each by its own. */
const ROWS = 8
export const SPANS = [1, 7, 30] as const
export type Span = (typeof SPANS)[number]

export function moneyWords({ world }: Pick<BotSite, 'world'>, running: Running) {
  const summaryOf = summaryReader({ world }, running)
  const spendOf = spendReader(world)

  const balance = async ({ caller, accountId }: Turn): Promise<Said> => {
    const summary = await summaryOf(`person:${caller.person.id}`, accountId)
    if (summary instanceof Response) return saidOf(summary)
    const { balance_usd, is_active, held_usd, running_requests: count, runway_days, a_day_usd } = summary
    const lines = [
      `Balance: ${showUsd(balance_usd)}`,
      ...(count === 0 ? [] : [`Held by ${count} running ${count === 1 ? 'request' : 'requests'}: ${showUsd(held_usd)}`]),
      runwayWords(runway_days, showUsd(a_day_usd)).replace(/^./, (first) => first.toUpperCase()),
      ...(is_active ? [] : ['The account is disabled: its keys are refused.']),
    ]
    return say(lines.join('\n'))
  }

  const spend = async ({ caller, accountId }: Turn, days: Span): Promise<Said> => {
    const today = dayAt(world.clock.now())
    const query = { from: dayText(today - days + 1), to: dayText(today), by: 'model' as const }
    const found = await spendOf(`person:${caller.person.id}`, accountId, query)
    if (found instanceof Response) return saidOf(found)
    const { total, places, series, data, is_by_hour } = spendDocument(found.rows, found.of)
    const whole = places.map((_, at) => series.reduce((sum, { values }) => sum + usdNumber(values[at] ?? '0'), 0))
    const title = `${days === 1 ? 'Today' : `${days} days`} (UTC): ${showUsd(total.cost_usd)}, ${total.requests} ${total.requests === 1 ? 'request' : 'requests'}`
    const models = data
      .slice(0, ROWS)
      .map(({ id, name, cost_usd }) => ({ name: name || id, cost: usdNumber(cost_usd), shown: showUsd(cost_usd) }))
    const times = places
      .map((place, at) => ({
        name: is_by_hour ? place : place.slice(5),
        cost: whole[at] ?? 0,
        shown: showUsd((whole[at] ?? 0).toFixed(6)),
      }))
      .filter(({ cost }) => cost > 0)
    const code = [bars(models), bars(times)].filter((text) => text !== '').join('\n\n')
    const buttons = [SPANS.map((span) => ({ text: span === 1 ? 'Today' : `${span} days`, data: `spend:${span}` }))]
    return say(code === '' ? `${title}\n\nNothing was spent in this time.` : `${title}\n\n${code}`, { code, buttons })
  }
  return { balance, spend }
}

type Bar = Readonly<{ name: string; cost: number; shown: string }>

/** A bar a line, the longest for the largest amount. */
function bars(rows: readonly Bar[]): string {
  const most = Math.max(...rows.map(({ cost }) => cost), 0)
  const names = rows.map(({ name }) => (name.length > NAME_CHARS ? `${name.slice(0, NAME_CHARS - 1)}…` : name))
  const width = Math.max(...names.map(({ length }) => length), 0)
  return rows
    .map(({ cost, shown }, at) => {
      const filled = most === 0 ? 0 : Math.max(cost > 0 ? 1 : 0, Math.round((cost / most) * BAR_CHARS))
      return `${(names[at] ?? '').padEnd(width)} ${'█'.repeat(filled).padEnd(BAR_CHARS, '·')} ${shown}`
    })
    .join('\n')
}
