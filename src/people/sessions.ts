/**
 * Sessions as rows and cookies. They are read with every request of a page, by one look-up in the file and without a cache, so that what was ended is ended at
 * once, whichever process ended it. Rows and cookies are better-auth's own, which writes them too. Rules: pages.md "Sessions".
 */

import type { Database } from 'bun:sqlite'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Listener } from './origins.ts'
import { newRowId, newToken } from './token.ts'

export type Person = Readonly<{ id: string; email: string; name: string }>
export type SignedIn = Readonly<{ person: Person; sessionId: string }>

/** What is shown of a session to whom it belongs. Times are ISO 8601. */
export type SessionRow = Readonly<{ id: string; createdAt: string; expiresAt: string; address: string; userAgent: string }>

/** Counted from the sign-in, whatever is done meanwhile: operators sign in daily. */
export const SESSION_S: Readonly<Record<Listener, number>> = { cabinet: 14 * 86_400, console: 86_400 }
/** A way in is added only by who has signed in since; better-auth holds its own acts to the same. */
const FRESH_MS = 86_400_000
const USER_AGENT_CHARS_MAX = 300

export const cookieNameOf = (listener: Listener, isHttps: boolean): string => `${isHttps ? '__Host-' : ''}tollgate-${listener}`

export class Sessions {
  readonly #now: () => number
  readonly #secrets: Readonly<Record<Listener, string>>
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: Database, now: () => number) {
    this.#now = now
    this.#statements = prepare(db)
    const secret = secretOf(db)
    const own = (listener: Listener): string => createHmac('sha256', secret).update(listener).digest('base64')
    this.#secrets = { cabinet: own('cabinet'), console: own('console') }
  }

  /** What signs the cookies of one listener: a cookie that is carried to the other is no cookie there. */
  secretOf(listener: Listener): string {
    return this.#secrets[listener]
  }

  /** The `set-cookie` of a new session. */
  start(listener: Listener, personId: string, from: { address: string; userAgent: string }, isHttps: boolean): string {
    const now = this.#now()
    const token = newToken()
    this.#statements.start.run({
      id: newRowId(),
      token,
      person: personId,
      listener,
      address: from.address,
      userAgent: from.userAgent.slice(0, USER_AGENT_CHARS_MAX),
      now: isoOf(now),
      expiresAt: isoOf(now + SESSION_S[listener] * 1_000),
    })
    this.#statements.prune.run({ now: isoOf(now) })
    const value = encodeURIComponent(`${token}.${this.#signature(listener, token)}`)
    return `${cookieNameOf(listener, isHttps)}=${value}; Max-Age=${SESSION_S[listener]}; Path=/; HttpOnly${isHttps ? '; Secure' : ''}; SameSite=Lax`
  }

  /** Whose request it is; undefined: nobody's on this listener. `cookies`: the header. */
  read(listener: Listener, cookies: string | null, isHttps: boolean): SignedIn | undefined {
    const token = this.#tokenOf(listener, cookies, isHttps)
    if (token === undefined) return undefined
    const row = this.#statements.read.get({ token, listener, now: isoOf(this.#now()) })
    if (row === null || (listener === 'console' && row.isOperator === 0)) return undefined
    return { person: { id: row.personId, email: row.email, name: row.name }, sessionId: row.sessionId }
  }

  /** Whether it began within a day. */
  isFresh(sessionId: string): boolean {
    return this.#statements.isFresh.get({ id: sessionId, since: isoOf(this.#now() - FRESH_MS) }) !== null
  }

  /** Newest first. */
  list(listener: Listener, personId: string): readonly SessionRow[] {
    return this.#statements.list.all({ person: personId, listener, now: isoOf(this.#now()) })
  }

  /** False where that person has no such session on this listener. */
  end(listener: Listener, personId: string, sessionId: string): boolean {
    return this.#statements.end.run({ id: sessionId, person: personId, listener }).changes > 0
  }

  /** How many were ended. */
  endOthers(listener: Listener, { person, sessionId }: SignedIn): number {
    return this.#statements.endOthers.run({ id: sessionId, person: person.id, listener }).changes
  }

  #tokenOf(listener: Listener, cookies: string | null, isHttps: boolean): string | undefined {
    const name = `${cookieNameOf(listener, isHttps)}=`
    const found = cookies?.split(';').find((one) => one.trimStart().startsWith(name))
    if (found === undefined) return undefined
    const [token = '', signature = ''] = decoded(found.trim().slice(name.length)).split('.')
    const expected = Buffer.from(this.#signature(listener, token))
    const given = Buffer.from(signature)
    return given.length === expected.length && timingSafeEqual(given, expected) ? token : undefined
  }

  #signature(listener: Listener, token: string): string {
    return createHmac('sha256', this.#secrets[listener]).update(token).digest('base64')
  }
}

/** 32 random bytes, made once; two processes that start at once agree. */
function secretOf(db: Database): Uint8Array {
  db.query('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(
    'cookies',
    crypto.getRandomValues(new Uint8Array(32)),
  )
  const row = db.query<{ value: Uint8Array }, [string]>('SELECT value FROM secrets WHERE name = ?').get('cookies')
  if (row === null) throw new Error('the secret of the cookies is gone')
  return row.value
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
type Named = Record<string, string>

const prepare = (db: Database) => ({
  start: db.query<unknown, [Named]>(
    `INSERT INTO session (id, expiresAt, token, createdAt, updatedAt, ipAddress, userAgent, userId, listener)
     VALUES ($id, $expiresAt, $token, $now, $now, $address, $userAgent, $person, $listener)`,
  ),
  prune: db.query<unknown, [Named]>('DELETE FROM session WHERE expiresAt <= $now'),
  read: db.query<Read, [Named]>(
    `SELECT session.id AS sessionId, person.id AS personId, email, name, EXISTS (SELECT 1 FROM operators WHERE person = person.id) AS isOperator
     FROM session JOIN person ON person.id = session.userId WHERE token = $token AND listener = $listener AND expiresAt > $now`,
  ),
  isFresh: db.query<{ id: string }, [Named]>('SELECT id FROM session WHERE id = $id AND createdAt > $since'),
  list: db.query<SessionRow, [Named]>(
    `SELECT id, createdAt, expiresAt, coalesce(ipAddress, '') AS address, coalesce(userAgent, '') AS userAgent
     FROM session WHERE userId = $person AND listener = $listener AND expiresAt > $now ORDER BY createdAt DESC`,
  ),
  end: db.query<unknown, [Named]>('DELETE FROM session WHERE id = $id AND userId = $person AND listener = $listener'),
  endOthers: db.query<unknown, [Named]>('DELETE FROM session WHERE id <> $id AND userId = $person AND listener = $listener'),
})
