/** The chats of an account with the cabinet's bot: they are listed, linked by a one-time code, and removed. Rules: pages.md "Telegram". */

import { Elysia, t } from 'elysia'
import { isoTime } from '../../core/utc.ts'
import { isChatNoted } from '../bot/start.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'

const CHAT = t.Object(
  { chat: t.String({ pattern: '^[1-9][0-9]{0,15}$', description: 'A chat of this account' }) },
  { additionalProperties: false },
)

export const telegramRoutes = (site: Site) =>
  new Elysia({ name: 'telegram', prefix: '/cabinet/api/accounts/:accountId/telegram' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get('', ({ params, caller }) => list(site, params.accountId, caller), { member: 'reader' })
    .post('/code', ({ params, caller }) => makeCode(site, params.accountId, caller), { member: 'reader' })
    .post(
      '/remove',
      ({ params, caller, membership, body }) =>
        remove(site, params.accountId, { caller, mayAll: membership.role === 'owner', chat: body.chat }),
      { member: 'reader', body: CHAT },
    )

/** `bot` null: this gateway has no bot, and there is nothing to show. */
async function list({ people, telegram }: Site, accountId: string, { person }: Caller) {
  const chats = await people().chats.list({ accountId })
  return {
    bot: telegram === undefined ? null : { name: (await telegram.name()) ?? null },
    data: chats.map(({ chat, name, email, tellsAlerts, createdAt }) => ({
      chat: String(chat),
      name,
      email,
      is_you: email === person.email,
      tells_alerts: tellsAlerts,
      created_at: isoTime(createdAt),
    })),
  }
}

/** Anyone in the account may link a chat: it may do what its person may. */
async function makeCode({ people, telegram }: Site, accountId: string, { person }: Caller) {
  if (telegram === undefined) return missing()
  const made = await people().chats.makeCode({ personId: person.id, accountId })
  if (made === undefined) return missing()
  const name = await telegram.name()
  return {
    code: made.code,
    link: name === undefined ? null : `https://t.me/${name}?start=${made.code}`,
    expires_at: isoTime(made.expiresAt),
  }
}

type Removal = Readonly<{ caller: Caller; mayAll: boolean; chat: string }>

/** Owners remove any chat, readers their own. It is removed before the audit log has its line, so that it ends even while the ledger cannot write. */
async function remove(site: Site, accountId: string, { caller, mayAll, chat }: Removal): Promise<Readonly<{ chat: string }> | Response> {
  const { chats } = site.people()
  const found = (await chats.list({ accountId })).find((one) => String(one.chat) === chat)
  if (found === undefined) return missing()
  if (!mayAll && found.email !== caller.person.email) return refuse(403, 'Only an owner of this account may do this')
  await chats.remove(accountId, found.chat)
  const noted = { email: found.email, accountId, chat: found.chat, state: 'removed' as const, at: site.world.clock.now() }
  if (await isChatNoted(site, noted, caller)) return { chat }
  return refuse(503, 'Removed. It could not be written into the audit log at this moment')
}
