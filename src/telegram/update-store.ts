/**
 * What the bot has taken of Telegram and not answered yet. Updates are written down before Telegram is told that they were taken, and go when they are answered, so
 * that a process that dies in between has lost none and repeats at most the last of each chat, whose acts are done once. One of several processes asks Telegram: the one
 * that has claimed the bot, for a minute at a time. Rules: pages.md "Telegram".
 */

import { Chats } from '../people/chats.ts'
import type { PeopleStore } from '../people/people-sql.ts'
import type { Incoming, Update } from './incoming.ts'

/** `salt`: random bytes of this update, out of which a new secret is made. `takenAt`: Unix milliseconds. */
export type Held = Readonly<{ number: number; incoming: Incoming; salt: Uint8Array; takenAt: number }>
export type Deletion = Readonly<{ chat: number; message: number; deleteAt: number }>

/** How long a claim lasts; it is renewed before each question to Telegram, which takes at most half as long. */
export const CLAIM_MS = 60_000
/**
 * Telegram keeps an update for a day, and after a week without any goes on at another number, which may be lower. After a day and an hour no number is named: whatever
 * comes then was not taken before. Source: https://core.telegram.org/bots/api#update.
 */
const NUMBERS_MS = 25 * 3_600_000
const SALT_BYTES = 32

export class UpdateStore {
  readonly #sql: PeopleStore
  readonly #bot: number
  readonly #now: () => number
  /** The name under which this process claims the bot. */
  readonly #owner = crypto.randomUUID()

  constructor(sql: PeopleStore, bot: number, now: () => number) {
    this.#sql = sql
    this.#bot = bot
    this.#now = now
  }

  /** Claims the bot for a minute, or renews the claim. `next`: the update to ask for; 0: whatever comes, since numbers may begin anew. Undefined: another process has it. */
  async claim(): Promise<Readonly<{ next: number; name: string }> | undefined> {
    const time = NOW[this.#sql.dialect]
    await this.#sql.run('INSERT INTO telegram_bots (bot) VALUES ($bot) ON CONFLICT DO NOTHING', { bot: this.#bot })
    return this.#sql.get(
      `UPDATE telegram_bots SET claimed_by = $owner, claimed_until = ${time} + $claimMs
        WHERE bot = $bot AND (claimed_by = $owner OR claimed_until <= ${time})
        RETURNING CASE WHEN taken_at < $since THEN 0 ELSE next_update END AS next, name`,
      { bot: this.#bot, owner: this.#owner, claimMs: CLAIM_MS, since: this.#now() - NUMBERS_MS },
    )
  }

  /** Ends the claim, so that another process asks at once. */
  async release(): Promise<void> {
    await this.#sql.run('UPDATE telegram_bots SET claimed_until = 0 WHERE bot = $bot AND claimed_by = $owner', this.#mine())
  }

  /** The bot's name at Telegram; undefined: it was never told. */
  async name(): Promise<string | undefined> {
    const row = await this.#sql.get<{ name: string }>('SELECT name FROM telegram_bots WHERE bot = $bot', { bot: this.#bot })
    return row?.name || undefined
  }

  async setName(name: string): Promise<void> {
    await this.#sql.run('UPDATE telegram_bots SET name = $name WHERE bot = $bot', { bot: this.#bot, name })
  }

  /** Writes updates down, with the number of the next one. Undefined: the claim was lost, nothing is written, and the process that has it gets them of Telegram. */
  take(updates: readonly Update[], next: number): Promise<readonly Held[] | undefined> {
    return this.#sql.transaction(['telegram'], async (sql) => {
      if ((await sql.run(NEXT, { ...this.#mine(), next, now: this.#now() })) === 0) return undefined
      const held: Held[] = []
      for (const { number, incoming } of updates) {
        if (incoming === undefined) continue
        const one = { number, incoming, salt: crypto.getRandomValues(new Uint8Array(SALT_BYTES)), takenAt: this.#now() }
        const row = { bot: this.#bot, number, chat: incoming.chat, body: JSON.stringify(incoming), salt: one.salt, now: one.takenAt }
        if ((await sql.run(TAKE, row)) > 0) held.push(one)
      }
      return held
    })
  }

  /** The updates that are not answered, oldest first. */
  async waiting(): Promise<readonly Held[]> {
    const rows = await this.#sql.all<{ number: number; body: string; salt: Uint8Array; takenAt: number }>(WAITING, { bot: this.#bot })
    return rows.map(({ body, ...row }) => ({ ...row, incoming: JSON.parse(body) as Incoming }))
  }

  /** An update is answered: it goes, together with the question that it answered, for which the bot's next question stands. */
  done({ number, incoming: { chat } }: Held, question: string | null): Promise<void> {
    return this.#sql.transaction(['telegram'], async (sql) => {
      await sql.run('DELETE FROM telegram_updates WHERE bot = $bot AND number = $number', { bot: this.#bot, number })
      await new Chats(sql, this.#now).ask(chat, question)
    })
  }

  async deleteLater({ chat, message, deleteAt }: Deletion): Promise<void> {
    await this.#sql.run(DELETE_LATER, { chat, message, deleteAt })
  }

  /** The messages to delete, soonest first. */
  deletions(limit: number): Promise<readonly Deletion[]> {
    const soonest = 'SELECT chat, message, delete_at AS "deleteAt" FROM telegram_deletions ORDER BY delete_at, chat, message LIMIT $limit'
    return this.#sql.all<Deletion>(soonest, { limit })
  }

  async deleted({ chat, message }: Deletion): Promise<void> {
    await this.#sql.run('DELETE FROM telegram_deletions WHERE chat = $chat AND message = $message', { chat, message })
  }

  #mine() {
    return { bot: this.#bot, owner: this.#owner }
  }
}

/** The time by the store's own clock, since those of several nodes may differ. */
const NOW = {
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
} as const
const NEXT = 'UPDATE telegram_bots SET next_update = $next, taken_at = $now WHERE bot = $bot AND claimed_by = $owner'
const TAKE = `INSERT INTO telegram_updates (bot, number, chat, body, salt, taken_at) VALUES ($bot, $number, $chat, $body, $salt, $now)
  ON CONFLICT DO NOTHING`
const WAITING = 'SELECT number, body, salt, taken_at AS "takenAt" FROM telegram_updates WHERE bot = $bot ORDER BY number'
const DELETE_LATER = `INSERT INTO telegram_deletions (chat, message, delete_at) VALUES ($chat, $message, $deleteAt)
  ON CONFLICT (chat, message) DO UPDATE SET delete_at = excluded.delete_at`
