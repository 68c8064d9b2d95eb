/** The cabinet's bot of a running gateway: it is loaded soon after the start, where it is configured, and nothing of it is awaited. Rules: pages.md "Telegram"; processes.md "Once". */

import type { Attempted } from '../alerts/delivery-store.ts'
import { describeBug } from '../observe/bug.ts'
import type { Bot } from '../telegram/bot.ts'
import type { BotSite } from './bot/turn.ts'

/** The address of a server that stands in for Telegram, in tests, and how often a process that has not the claim looks. */
export type TelegramAddress = Readonly<{ apiRoot: string; lookEveryMs?: number }>

export type OpenedTelegram = Readonly<{
  begin(): void
  name(): Promise<string | undefined>
  /** Sends a text to a chat; a string says why it can never be sent. */
  sendChat(chat: string, text: string): Promise<Attempted | string>
  close(): Promise<void>
}>

/** After the start, before much runs. */
const BEGIN_AFTER_MS = 250

/** `site`: read when the bot begins, since the site has the bot, too. */
export function telegramOfGateway(token: string, site: () => BotSite, address: TelegramAddress | undefined): OpenedTelegram {
  let loading: Promise<Bot> | undefined
  let isClosed = false
  const open = (): Promise<Bot> => {
    loading ??= load(token, site(), address).catch((bug: unknown) => {
      loading = undefined
      throw bug
    })
    return loading
  }
  return {
    begin() {
      const start = async (): Promise<void> => {
        if (!isClosed) await open()
      }
      setTimeout(
        () => start().catch((bug: unknown) => site().world.log.alarm('the bot could not begin', describeBug(bug))),
        BEGIN_AFTER_MS,
      ).unref()
    },
    name: async () => (await open()).name(),
    async sendChat(chat, text) {
      const sent = await (await open()).api.send(Number(chat), { text })
      if (!('failed' in sent)) return { status: 200, problem: null }
      if (sent.failed === 'refused') return 'the chat takes no messages of the bot'
      return { status: sent.status, problem: sent.status === null ? 'no answer' : `status ${sent.status}` }
    },
    async close() {
      isClosed = true
      await (await loading)?.close()
    },
  }
}

async function load(token: string, site: BotSite, address: TelegramAddress | undefined): Promise<Bot> {
  const [{ startBot }, { conversation }, { send }, { COMMANDS }] = await Promise.all([
    import('../telegram/bot.ts'),
    import('./bot/conversation.ts'),
    import('./bot/send.ts'),
    import('./bot/commands.ts'),
  ])
  const { log, metrics, clock } = site.world
  const { db } = site.people()
  const talk = conversation(site, { token, deleteAt: (chat, message, at) => bot.deleteAt(chat, message, at) })
  const bot: Bot = startBot({
    sql: db,
    token,
    apiRoot: address?.apiRoot,
    lookEveryMs: address?.lookEveryMs,
    commands: COMMANDS,
    now: clock.now,
    monotonicMs: clock.monotonicMs,
    answer: async (held, { api }) => send(api, held.incoming, await talk(held)),
    onUpdate: (result) => metrics.botUpdate(result),
    log,
  })
  return bot
}
