/** Whether a chat is told the alerts of its account, and the alert about the balance, which the bot makes where the account has none. Rules: pages.md "Telegram", "Alerts". */

import { toExactUsdText } from '../../core/money.ts'
import { addAlert } from '../api/alerts.ts'
import { showUsd } from '../parts/show-usd.ts'
import { type Said, saidOf, say } from './said.ts'
import { isChatNoted } from './start.ts'
import type { BotSite, Turn } from './turn.ts'

/** The balance below which a chat is told, where its person names none. */
const THRESHOLD_USD = '5'

export function alertWords(site: BotSite) {
  /** `typed`: what stands behind the command. */
  return (turn: Turn, typed: string): Promise<Said> | Said => {
    const [word = '', amount] = typed.toLowerCase().split(/\s+/)
    if (word === 'off') return off(site, turn)
    if (word === 'on') return on(site, turn, amount)
    const is = turn.chat.tellsAlerts ? 'on' : 'off'
    return say(
      `Alerts in this chat are ${is}. Send /alerts on or /alerts off; an owner may name the balance below which to tell: /alerts on 20.`,
    )
  }
}

async function off(site: BotSite, turn: Turn): Promise<Said> {
  const { chat, caller, accountId, takenAt } = turn
  await site.people().chats.setTellsAlerts(chat.chat, false)
  await isChatNoted(site, { email: caller.person.email, accountId, chat: chat.chat, state: 'not told alerts', at: takenAt })
  return say('Alerts are no longer sent to this chat.')
}

async function on(site: BotSite, turn: Turn, amount: string | undefined): Promise<Said> {
  const { chat, caller, accountId, role, takenAt } = turn
  const noted = { email: caller.person.email, accountId, chat: chat.chat, state: 'told alerts', at: takenAt } as const
  if (!(await isChatNoted(site, noted))) return say('Nothing can be booked at this moment. Try again in a minute.')
  await site.people().chats.setTellsAlerts(chat.chat, true)
  const { store } = await site.alerts.open()
  const thresholds = (await store.alerts(accountId)).flatMap(({ rule, isEnabled }) =>
    isEnabled && rule.kind === 'balance_below' ? [toExactUsdText(rule.thresholdPicos)] : [],
  )
  const wanted = amount?.replace(/^\$/, '') ?? (thresholds.length === 0 ? THRESHOLD_USD : undefined)
  if (wanted === undefined || thresholds.includes(wanted)) return say(toldWords(thresholds))
  if (role !== 'owner')
    return say(
      `${thresholds.length > 0 ? toldWords(thresholds) : 'This chat gets every alert of the account; there is none about the balance yet.'} Only an owner of this account makes alerts.`,
    )
  const made = await addAlert(site, accountId, { kind: 'balance_below', threshold_usd: wanted, emails: [], webhook_ids: [] }, caller)
  return made.ok ? say(toldWords([...thresholds, wanted])) : saidOf(made)
}

const toldWords = (thresholds: readonly string[]): string =>
  `This chat gets every alert of the account. About the balance: below ${thresholds.map((usd) => showUsd(usd)).join(', ')}. The cabinet has the others.`
