/** The `[cabinet.telegram]` table: the bot's token, which comes from the environment only. Rules: pages.md "Telegram". */

import type { Config } from './config.ts'
import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'
import { type Environment, secretOf } from './secret.ts'

/** As Telegram gives it: the bot's number, and a secret (https://core.telegram.org/bots/api#authorizing-your-bot). */
const TOKEN = /^[1-9]\d{0,15}:[\w-]{20,100}$/

type Entry = NonNullable<ConfigFile['cabinet']>['telegram']

/**
 * With `env` undefined no secret is read, and there is no bot. A variable that is not set goes to `problems`; a text that cannot be a token goes to `withoutEffect`, since
 * a gateway without its bot serves everything else.
 */
export function makeTelegram(
  entry: Entry,
  env: Environment | undefined,
  problems: ConfigProblem[],
  withoutEffect: ConfigProblem[],
): Config['cabinet']['telegram'] {
  if (entry === undefined || env === undefined) return undefined
  const path = 'cabinet.telegram.token_env'
  const before = problems.length
  const token = secretOf(env, entry.token_env, path, problems) ?? ''
  if (problems.length > before) return undefined
  if (TOKEN.test(token)) return { token }
  const message = `has no effect: expected a token such as 123456789:AAF… in ${entry.token_env}, found another text, so there is no bot`
  withoutEffect.push({ path, message })
  return undefined
}
