/** The bot of the cabinet: it asks Telegram, answers, and deletes what was to be deleted. This file and grammY are loaded where a bot is configured. Rules: pages.md "Telegram". */

import type { Log } from '../observe/log.ts'
import type { PeopleStore } from '../people/people-sql.ts'
import { BotApi, type BotApiOptions } from './bot-api.ts'
import { ChatTurns } from './chat-turns.ts'
import { Deleter } from './deleter.ts'
import { Poller, type PollerParts } from './poller.ts'
import { type Held, UpdateStore } from './update-store.ts'
import { type Answered, UpdateWorker } from './update-worker.ts'

export type BotParts = Readonly<{
  sql: PeopleStore
  now: () => number
  monotonicMs: () => number
  /** Makes the answer to an update and sends it. */
  answer: (held: Held, bot: Bot) => Promise<Answered>
  onUpdate: (result: 'answered' | 'given up' | 'dropped') => void
  log: Pick<Log, 'alarm' | 'notice'>
}> &
  BotApiOptions &
  Pick<PollerParts, 'commands' | 'lookEveryMs'>

export type Bot = Readonly<{
  api: BotApi
  /** The bot's name at Telegram; undefined: Telegram was not reached yet. */
  name(): Promise<string | undefined>
  /** Deletes a message at a time, in Unix milliseconds. */
  deleteAt(chat: number, message: number, at: number): Promise<void>
  close(): Promise<void>
}>

/** The number of a bot, which its token begins with. */
const botOf = (token: string): number => Number.parseInt(token, 10)

/** Begins to ask. An update that an earlier process left is answered first. */
export function startBot({ sql, token, apiRoot, answer, onUpdate, ...parts }: BotParts): Bot {
  const { now, monotonicMs, log } = parts
  const api = new BotApi({ token, apiRoot })
  const store = new UpdateStore(sql, botOf(token), now)
  const isMine = (): boolean => poller.isMine
  const deleter = new Deleter({ api, store, isMine, now, log })
  const bot: Bot = {
    api,
    name: () => store.name(),
    async deleteAt(chat, message, deleteAt) {
      await store.deleteLater({ chat, message, deleteAt })
      deleter.wake()
    },
    async close() {
      deleter.close()
      await Promise.all([worker.close(), poller.stop()])
      await poller.release()
    },
  }
  const worker = new UpdateWorker({
    answer: (held) => answer(held, bot),
    finish: (held, question) => store.done(held, question),
    isMine,
    onEnd: onUpdate,
    now,
    log,
  })
  const poller = new Poller({
    ...parts,
    api,
    store,
    turns: new ChatTurns(monotonicMs, () => onUpdate('dropped')),
    waiting: () => worker.waiting,
    onHeld(held) {
      worker.add(held)
      deleter.wake()
    },
  })
  poller.start()
  return bot
}
