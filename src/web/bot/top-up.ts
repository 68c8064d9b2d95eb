/** Money for an account in a chat: a prepaid code, or a page of Stripe's to pay on. Rules: pages.md "Telegram", "Codes", "Stripe". */

import { toExactUsdText } from '../../core/money.ts'
import { readCode } from '../../core/prepaid-code.ts'
import { cashier, redeemer } from '../api/top-up-acts.ts'
import { showUsd } from '../parts/show-usd.ts'
import { type Said, saidOf, say } from './said.ts'
import type { BotSite, Turn } from './turn.ts'

/** Offered as buttons, where the operator's bounds allow them. */
const AMOUNTS = ['10', '25', '50', '100']

export function topUpWords(site: Pick<BotSite, 'world' | 'people' | 'payments' | 'waysToPay'>) {
  const [redeem, checkout] = [redeemer(site), cashier(site)]

  const ways = (): Said => {
    const { text, stripe } = site.waysToPay()
    const canPay = stripe !== undefined && site.payments !== undefined
    const amounts = canPay ? AMOUNTS.filter((usd) => isWithin(usd, toExactUsdText(stripe.minPicos), toExactUsdText(stripe.maxPicos))) : []
    const lines = [
      `Send a prepaid code, TG-…${canPay ? ', or an amount in dollars to pay by card' : ''}.`,
      ...(text === undefined ? [] : ['', text]),
    ]
    const buttons = amounts.length === 0 ? [] : [amounts.map((usd) => ({ text: `$${usd}`, data: `pay:${usd}` }))]
    return { ...say(lines.join('\n'), { buttons }), question: { asks: 'top-up' } }
  }

  const code = async ({ caller, accountId }: Turn, typed: string): Promise<Said> => {
    const redeemed = await redeem(caller, accountId, typed)
    if (redeemed instanceof Response) return saidOf(redeemed)
    const amount = redeemed.amount_usd === '' ? 'The code' : showUsd(redeemed.amount_usd)
    return say(redeemed.already ? `${amount} of this code is on the account already.` : `${amount} is on the account.`)
  }

  const pay = async ({ caller, accountId }: Turn, typed: string): Promise<Said> => {
    const usd = typed.trim().replace(/^\$/, '')
    const made = await checkout(caller, accountId, usd)
    if (!(made instanceof Response))
      return say(`Pay $${usd} on this page. The balance rises when Stripe says that it is paid.`, {
        buttons: [[{ text: `Pay $${usd}`, url: made.url }]],
      })
    return made.status === 404 ? say('This is no code: compare each character.') : saidOf(made)
  }

  /** A text is a code or an amount. */
  const typed = (turn: Turn, text: string): Promise<Said> =>
    readCode(text) === undefined && /^\$?\d{1,9}(?:\.\d{1,2})?$/.test(text.trim()) ? pay(turn, text) : code(turn, text)

  return { ways, typed, pay }
}

const isWithin = (usd: string, min: string, max: string): boolean => Number(usd) >= Number(min) && Number(usd) <= Number(max)
