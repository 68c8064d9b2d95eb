/** The `[mail]` table: the server, whose address holds a password and comes from the environment only, and the sender. Rules: operator.md "Configuration". */

import type { MailConfig } from './config.ts'
import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'
import type { Environment } from './secret.ts'

/**
 * The mail server of the configuration. With `env` undefined no secret is read, and no mail is sent. Every mistake is added to `problems`, never with the
 * server's address.
 */
export function makeMail(entry: ConfigFile['mail'], env: Environment | undefined, problems: ConfigProblem[]): MailConfig | undefined {
  if (entry === undefined || env === undefined) return undefined
  const { url_env: variable, from } = entry
  const url = env[variable] ?? ''
  const path = 'mail.url_env'
  if (url === '')
    problems.push({ path, message: `expected the mail server's address in the environment variable ${variable}, which is not set` })
  else if (!['smtp:', 'smtps:'].includes(URL.parse(url)?.protocol ?? ''))
    problems.push({ path, message: `expected an smtp or smtps address in ${variable}, found another text` })
  return { url, from }
}
