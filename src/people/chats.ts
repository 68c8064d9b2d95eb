/**
 * Private chats that act for a person in an account, and the one-time codes that link them. A chat ends with the membership under which it was linked, so that a
 * person who is put out has no chat left. Rules: pages.md "Telegram".
 */

import { makeLinkCode } from '../core/link-code.ts'
import type { PeopleSql } from './people-sql.ts'
import { tokenHash } from './token.ts'

export type Chat = Readonly<{
  chat: number
  personId: string
  accountId: string
  /** As Telegram showed the user when the chat was linked. */
  name: string
  tellsAlerts: boolean
  /** JSON of what the bot asked for and has not got yet. */
  question: string | null
  /** Unix milliseconds. */
  createdAt: number
}>

/** The chat as the pages list it. */
export type ListedChat = Pick<Chat, 'chat' | 'accountId' | 'name' | 'tellsAlerts' | 'createdAt'> & Readonly<{ email: string }>

type Membership = Readonly<{ personId: string; accountId: string }>

/** A code is typed, or its link followed, at once. */
const CODE_MS = 10 * 60_000
/** A person links so many chats to an account. */
const CHATS_MAX = 5

export class Chats {
  readonly #sql: PeopleSql
  readonly #now: () => number

  constructor(sql: PeopleSql, now: () => number) {
    this.#sql = sql
    this.#now = now
  }

  /** The same methods as part of a transaction. */
  in(sql: PeopleSql): Chats {
    return new Chats(sql, this.#now)
  }

  /** Makes a code in place of an earlier one of the same person and account; undefined: the person is no member. */
  makeCode({ personId, accountId }: Membership): Promise<Readonly<{ code: string; expiresAt: number }> | undefined> {
    const code = makeLinkCode(() => crypto.getRandomValues(new Uint8Array(16)))
    const [now, expiresAt] = [this.#now(), this.#now() + CODE_MS]
    return this.#sql.transaction([`account ${accountId}`], async (sql) => {
      await sql.run('DELETE FROM telegram_codes WHERE expires_at <= $now', { now })
      if ((await sql.get(MEMBER, { person: personId, account: accountId })) === undefined) return undefined
      await sql.run(MAKE_CODE, { hash: tokenHash(code), person: personId, account: accountId, expiresAt })
      return { code, expiresAt }
    })
  }

  /**
   * The person and account to which the code links this chat; undefined: it is over, used by another chat, or was never made. To the chat that used it, it stays what it was:
   * an update that is answered twice is answered alike.
   */
  byCode(code: string, chat: number): Promise<Membership | undefined> {
    return this.#sql.get<Membership>(CODE, { hash: tokenHash(code), chat, now: this.#now() })
  }

  /** Uses the code up and links the chat, in place of what it was linked to. `tooMany`: the person has as many chats as may be; undefined: as above. */
  async link(code: string, { chat, name }: Pick<Chat, 'chat' | 'name'>): Promise<'linked' | 'tooMany' | undefined> {
    const found = await this.byCode(code, chat)
    if (found === undefined) return undefined
    return this.#sql.transaction([`account ${found.accountId}`], async (sql) => {
      const chats = this.in(sql)
      const linked = await chats.byCode(code, chat)
      if (linked === undefined) return undefined
      const others = await sql.get<{ n: number }>(OTHERS, { person: linked.personId, account: linked.accountId, chat })
      if ((others?.n ?? 0) >= CHATS_MAX) return 'tooMany'
      await sql.run('UPDATE telegram_codes SET chat = $chat WHERE code_hash = $hash', { hash: tokenHash(code), chat })
      const before = await chats.byId(chat)
      if (before?.personId !== linked.personId || before.accountId !== linked.accountId) await chats.add({ chat, name, ...linked })
      return 'linked'
    })
  }

  /** Links the chat in place of what it was linked to. */
  async add({ chat, name, personId, accountId }: Pick<Chat, 'chat' | 'name'> & Membership): Promise<void> {
    await this.#sql.run('DELETE FROM telegram_chats WHERE chat = $chat', { chat })
    await this.#sql.run(ADD, { chat, name, person: personId, account: accountId, now: this.#now() })
  }

  /** Undefined: the chat is not linked, or its person is no member of the account any more. */
  async byId(chat: number): Promise<Chat | undefined> {
    const row = await this.#sql.get<Row>(`${CHATS} WHERE chat = $chat`, { chat })
    return row === undefined ? undefined : chatOf(row)
  }

  /** Of one account, of one person, or all; the oldest first. */
  async list(of: Readonly<{ accountId?: string; personId?: string }> = {}): Promise<readonly ListedChat[]> {
    const rows = await this.#sql.all<ListedRow>(LIST, { account: of.accountId ?? null, person: of.personId ?? null })
    return rows.map((row) => ({ ...row, tellsAlerts: row.tellsAlerts === 1 }))
  }

  /** The chats of an account that are told its alerts, as texts. */
  async toldOf(accountId: string): Promise<readonly string[]> {
    const rows = await this.#sql.all<{ chat: number }>(TOLD, { account: accountId })
    return rows.map(({ chat }) => String(chat))
  }

  async setTellsAlerts(chat: number, tellsAlerts: boolean): Promise<void> {
    await this.#sql.run('UPDATE telegram_chats SET tells_alerts = $on WHERE chat = $chat', { chat, on: Number(tellsAlerts) })
  }

  async ask(chat: number, question: string | null): Promise<void> {
    await this.#sql.run('UPDATE telegram_chats SET question = $question WHERE chat = $chat', { chat, question })
  }

  /** Undefined: the account has no such chat. */
  remove(accountId: string, chat: number): Promise<Readonly<{ personId: string }> | undefined> {
    return this.#sql.get('DELETE FROM telegram_chats WHERE chat = $chat AND account_id = $account RETURNING person AS "personId"', {
      chat,
      account: accountId,
    })
  }
}

type Row = Omit<Chat, 'tellsAlerts'> & Readonly<{ tellsAlerts: 0 | 1 }>
type ListedRow = Omit<ListedChat, 'tellsAlerts'> & Readonly<{ tellsAlerts: 0 | 1 }>

const chatOf = (row: Row): Chat => ({ ...row, tellsAlerts: row.tellsAlerts === 1 })

const CHATS = `SELECT chat, person AS "personId", account_id AS "accountId", name, tells_alerts AS "tellsAlerts", question, created_at AS "createdAt"
  FROM telegram_chats`
const LIST = `SELECT chat, account_id AS "accountId", telegram_chats.name AS name, tells_alerts AS "tellsAlerts", created_at AS "createdAt", email
  FROM telegram_chats JOIN person ON person.id = telegram_chats.person
  WHERE (CAST($account AS TEXT) IS NULL OR account_id = $account) AND (CAST($person AS TEXT) IS NULL OR person = $person)
  ORDER BY created_at, chat`
const TOLD = 'SELECT chat FROM telegram_chats WHERE account_id = $account AND tells_alerts = 1 ORDER BY chat'
const ADD = `INSERT INTO telegram_chats (chat, person, account_id, name, tells_alerts, created_at)
  VALUES ($chat, $person, $account, $name, 0, $now)`
const MEMBER = 'SELECT person FROM memberships WHERE person = $person AND account_id = $account AND wanted_name IS NULL'
const MAKE_CODE = `INSERT INTO telegram_codes (code_hash, person, account_id, expires_at) VALUES ($hash, $person, $account, $expiresAt)
  ON CONFLICT (person, account_id) DO UPDATE SET code_hash = excluded.code_hash, chat = NULL, expires_at = excluded.expires_at`
const CODE = `SELECT person AS "personId", account_id AS "accountId" FROM telegram_codes
  WHERE code_hash = $hash AND expires_at > $now AND (chat IS NULL OR chat = $chat)`
const OTHERS = 'SELECT count(*) AS n FROM telegram_chats WHERE person = $person AND account_id = $account AND chat <> $chat'
