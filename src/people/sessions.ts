/**
 * Sessions as rows and cookies. They are read with every request of a page, by one look-up in the store and without a cache, so that a session that was ended is over
 * at once, in every process. Rows and cookies are better-auth's own, which writes them too. Rules: pages.md "Sessions".
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Listener } from './origins.ts'
import type { PeopleSql } from './people-sql.ts'
import { newRowId, newToken } from './token.ts'

export type Person = Readonly<{ id: string; email: string; name: string }>
export type SignedIn = Readonly<{ person: Person; sessionId: string }>

/** A session as its person sees it. Times are ISO 8601. */
export type SessionRow = Readonly<{ id: string; createdAt: string; expiresAt: string; address: string; userAgent: string }>

/** Seconds that a session lasts from its sign-in, however much it is used: operators sign in daily. */
export const SESSION_S: Readonly<Record<Listener, number>> = { cabinet: 14 * 86_400, console: 86_400 }
/** A person may add a way to sign in only so soon after signing in; better-auth holds its own acts to the same limit. */
const FRESH_MS = 86_400_000
const USER_AGENT_CHARS_MAX = 300

export const cookieNameOf = (listener: Listener, isHttps: boolean): string => `${isHttps ? '__Host-' : ''}tollgate-${listener}`

export class Sessions {
  readonly #sql: PeopleSql
  readonly #now: () => number
  #secrets: Promise<Secrets> | undefined

  constructor(sql: PeopleSql, now: () => number) {
    this.#sql = sql
    this.#now = now
  }

  /** The secret that signs the cookies of one listener, so that they are invalid on the other. */
  async secretOf(listener: Listener): Promise<string> {
    this.#secrets ??= secretsIn(this.#sql)
    try {
      return (await this.#secrets)[listener]
    } catch (error) {
      this.#secrets = undefined
      throw error
    }
  }

  /** Starts a session and returns its `set-cookie`. */
  async start(listener: Listener, personId: string, from: { address: string; userAgent: string }, isHttps: boolean): Promise<string> {
    const now = this.#now()
    const token = newToken()
    const signature = await this.#signature(listener, token)
    await this.#sql.run(START, {
      id: newRowId(),
      token,
      person: personId,
      listener,
      address: from.address,
      userAgent: from.userAgent.slice(0, USER_AGENT_CHARS_MAX),
      now: isoOf(now),
      expiresAt: isoOf(now + SESSION_S[listener] * 1_000),
    })
    await this.#sql.run('DELETE FROM session WHERE "expiresAt" <= $now', { now: isoOf(now) })
    const value = encodeURIComponent(`${token}.${signature}`)
    return `${cookieNameOf(listener, isHttps)}=${value}; Max-Age=${SESSION_S[listener]}; Path=/; HttpOnly${isHttps ? '; Secure' : ''}; SameSite=Lax`
  }

  /** The person who is signed in on this listener; undefined: none is. `cookies`: the header. */
  async read(listener: Listener, cookies: string | null, isHttps: boolean): Promise<SignedIn | undefined> {
    const token = await this.#tokenOf(listener, cookies, isHttps)
    if (token === undefined) return undefined
    const row = await this.#sql.get<Read>(READ, { token, listener, now: isoOf(this.#now()) })
    if (row === undefined || (listener === 'console' && row.isOperator === 0)) return undefined
    return { person: { id: row.personId, email: row.email, name: row.name }, sessionId: row.sessionId }
  }

  /** Whether the session began within a day. */
  async isFresh(sessionId: string): Promise<boolean> {
    const fresh = 'SELECT id FROM session WHERE id = $id AND "createdAt" > $since'
    return (await this.#sql.get(fresh, { id: sessionId, since: isoOf(this.#now() - FRESH_MS) })) !== undefined
  }

  /** The person's sessions, newest first. */
  list(listener: Listener, personId: string): Promise<readonly SessionRow[]> {
    return this.#sql.all<SessionRow>(LIST, { person: personId, listener, now: isoOf(this.#now()) })
  }

  /** False: the person has no such session on this listener. */
  async end(listener: Listener, personId: string, sessionId: string): Promise<boolean> {
    const end = 'DELETE FROM session WHERE id = $id AND "userId" = $person AND listener = $listener'
    return (await this.#sql.run(end, { id: sessionId, person: personId, listener })) > 0
  }

  /** Returns how many sessions were ended. */
  endOthers(listener: Listener, { person, sessionId }: SignedIn): Promise<number> {
    const end = 'DELETE FROM session WHERE id <> $id AND "userId" = $person AND listener = $listener'
    return this.#sql.run(end, { id: sessionId, person: person.id, listener })
  }

  async #tokenOf(listener: Listener, cookies: string | null, isHttps: boolean): Promise<string | undefined> {
    const name = `${cookieNameOf(listener, isHttps)}=`
    const found = cookies?.split(';').find((one) => one.trimStart().startsWith(name))
    if (found === undefined) return undefined
    const [token = '', signature = ''] = decoded(found.trim().slice(name.length)).split('.')
    const expected = Buffer.from(await this.#signature(listener, token))
    const given = Buffer.from(signature)
    return given.length === expected.length && timingSafeEqual(given, expected) ? token : undefined
  }

  async #signature(listener: Listener, token: string): Promise<string> {
    return createHmac('sha256', await this.secretOf(listener))
      .update(token)
      .digest('base64')
  }
}

type Secrets = Readonly<Record<Listener, string>>

/** Reads the listeners' secrets, which come from 32 random bytes. These are made once; two processes that start at once get the same. */
async function secretsIn(sql: PeopleSql): Promise<Secrets> {
  const made = { name: 'cookies', value: crypto.getRandomValues(new Uint8Array(32)) }
  await sql.run('INSERT INTO secrets (name, value) VALUES ($name, $value) ON CONFLICT DO NOTHING', made)
  const row = await sql.get<{ value: Uint8Array }>('SELECT value FROM secrets WHERE name = $name', made)
  if (row === undefined) throw new Error('the secret of the cookies is gone')
  const own = (listener: Listener): string => createHmac('sha256', row.value).update(listener).digest('base64')
  return { cabinet: own('cabinet'), console: own('console') }
}

const isoOf = (time: number): string => new Date(time).toISOString()

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

type Read = { sessionId: string; personId: string; email: string; name: string; isOperator: 0 | 1 }

const START = `INSERT INTO session (id, "expiresAt", token, "createdAt", "updatedAt", "ipAddress", "userAgent", "userId", listener)
  VALUES ($id, $expiresAt, $token, $now, $now, $address, $userAgent, $person, $listener)`
const READ = `SELECT session.id AS "sessionId", person.id AS "personId", email, name,
    CASE WHEN EXISTS (SELECT 1 FROM operators WHERE person = person.id) THEN 1 ELSE 0 END AS "isOperator"
  FROM session JOIN person ON person.id = session."userId" WHERE token = $token AND listener = $listener AND "expiresAt" > $now`
const LIST = `SELECT id, "createdAt", "expiresAt", coalesce("ipAddress", '') AS address, coalesce("userAgent", '') AS "userAgent"
  FROM session WHERE "userId" = $person AND listener = $listener AND "expiresAt" > $now ORDER BY "createdAt" DESC`
