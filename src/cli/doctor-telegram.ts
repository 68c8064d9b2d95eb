/** `tollgate doctor` on the cabinet's bot: Telegram is asked who it is, by the token. Rules: operator.md "Commands"; pages.md "Telegram". */

import type { Config } from '../config/config.ts'
import type { Finding } from './doctor-finding.ts'

const TIMEOUT_MS = 10_000

/** `apiRoot`: the address of a server that stands in for Telegram. */
export async function telegramFindings({ cabinet: { telegram } }: Config, apiRoot?: string): Promise<readonly Finding[]> {
  if (telegram === undefined) return []
  const { BotApi } = await import('../telegram/bot-api.ts')
  const name = await new BotApi({ token: telegram.token, apiRoot }).name(AbortSignal.timeout(TIMEOUT_MS))
  return [{ check: 'telegram', ...('failed' in name ? failureOf(name.failed) : { status: 'ok', detail: `the bot is @${name.value}` }) }]
}

const failureOf = (failed: string): Pick<Finding, 'status' | 'detail'> =>
  failed === 'token'
    ? { status: 'problem', detail: 'Telegram does not know the token that cabinet.telegram.token_env names: compare it with BotFather’s' }
    : { status: 'warning', detail: 'Telegram cannot be reached from here: the bot answers no one until it can be' }
