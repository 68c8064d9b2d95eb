/** Sends what the bot says. Whatever could not be sent is said again later, by answering the update anew: its acts are done once. Rules: pages.md "Telegram". */

import type { Answered, BotApi, Failed, Outgoing } from '../../telegram/bot-api.ts'
import type { Incoming } from '../../telegram/incoming.ts'
import type { Answered as UpdateAnswered } from '../../telegram/update-worker.ts'
import type { Said } from './said.ts'

export async function send(api: BotApi, incoming: Incoming, said: Said): Promise<UpdateAnswered> {
  const question = said.question === undefined ? null : JSON.stringify(said.question)
  // A wait that cannot be ended ends by itself.
  if (incoming.kind === 'button') await api.heard(incoming.press, said.hint ?? '')
  if (incoming.kind === 'button' && said.buttons !== undefined) await api.setButtons(incoming.chat, incoming.message, said.buttons)
  for (const [index, message] of said.says.entries()) {
    const replaces = incoming.kind === 'button' && index === 0 && said.isApart !== true ? incoming.message : undefined
    const sent = await sendOne(api, incoming.chat, message, replaces)
    if ('failed' in sent && sent.failed !== 'refused') return { done: false, afterMs: afterMsOf(sent) }
    // A chat that takes no message has blocked the bot, or is gone.
    if ('failed' in sent) break
  }
  return { done: true, question }
}

/** A message that can no longer be changed is followed by a new one. */
async function sendOne(api: BotApi, chat: number, message: Outgoing, replaces: number | undefined): Promise<Answered<unknown>> {
  if (replaces === undefined) return api.send(chat, message)
  const edited = await api.edit(chat, replaces, message)
  return 'failed' in edited && edited.failed === 'refused' ? api.send(chat, message) : edited
}

const afterMsOf = (failed: Failed): number | undefined => (failed.failed === 'flood' ? failed.retryAfterS * 1_000 : undefined)
