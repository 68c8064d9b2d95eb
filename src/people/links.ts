/**
 * One-time links: an invitation brings a person to an account or to the console; a sign-in link signs in the person for whom it was made. Each link is used up in the
 * transaction in which it has its effect. Rules: pages.md "Links".
 */

import type { Membership, Memberships, Role } from './memberships.ts'
import type { Listener } from './origins.ts'
import type { PeopleSql } from './people-sql.ts'
import type { Person } from './sessions.ts'
import { newRowId, newToken, tokenHash } from './token.ts'

/** `membership` null: the invitation is to the console. `wantedName`: the name of the account that it makes; null where the account exists. */
export type Invitation = Readonly<{
  email: string
  membership: Membership | null
  wantedName: string | null
  invitedBy: string
  createdAt: number
  expiresAt: number
}>

/** gone: the link was used, has expired, was withdrawn or never made · signIn: the person can sign in already, and must do so first. */
export type Accepted = Readonly<{ result: 'joined'; person: Person }> | Readonly<{ result: 'gone' | 'signIn' }>

const HOUR_MS = 3_600_000
const INVITATION_MS = 72 * HOUR_MS
/** A sign-in link is made for a person who follows it at once. */
const SIGN_IN_LINK_MS = HOUR_MS
/** Used and expired invitations are kept so long, for the list. */
const KEEP_MS = 30 * 24 * HOUR_MS

export class Links {
  readonly #sql: PeopleSql
  readonly #memberships: Memberships
  readonly #now: () => number

  constructor(sql: PeopleSql, memberships: Memberships, now: () => number) {
    this.#sql = sql
    this.#memberships = memberships
    this.#now = now
  }

  /** Makes an invitation and returns its link's secret. `invitedBy`: an actor, as the audit log writes it. `wantedName`: the account does not exist yet, and gets this name. */
  async invite(email: string, membership: Membership | null, invitedBy: string, wantedName: string | null = null): Promise<string> {
    const token = newToken()
    const now = this.#now()
    await this.#sql.run('DELETE FROM invitations WHERE expires_at < $before', { before: now - KEEP_MS })
    await this.#sql.run(INVITE, {
      hash: tokenHash(token),
      email,
      account: membership?.accountId ?? null,
      role: membership?.role ?? null,
      wantedName,
      invitedBy,
      now,
      expiresAt: now + INVITATION_MS,
    })
    return token
  }

  /** Voids invitations that were not followed. `accountId` null: those to the console. */
  async withdraw(email: string, accountId: string | null): Promise<void> {
    await this.#sql.run(WITHDRAW, { email, account: accountId })
  }

  /** Undefined: the link was used, has expired, was withdrawn or never made. */
  invitation(token: string): Promise<Invitation | undefined> {
    return this.#invitation(this.#sql, token)
  }

  /** Invitations that can still be followed, newest first; only those to one account where `accountId` is given. */
  async invitations(accountId?: string): Promise<readonly Invitation[]> {
    const of = accountId === undefined ? '' : 'AND account_id = $account'
    const rows = await this.#sql.all<Row>(`${INVITATION} ${of} ORDER BY created_at DESC`, { account: accountId ?? null, now: this.#now() })
    return rows.map(invitationOf)
  }

  /**
   * Uses the invitation up. `signedInAs`: the person who is signed in. A person who cannot sign in yet gets `password`, a hash. A person who can must be signed in:
   * otherwise an account's owner could take over another person by an invitation.
   */
  async accept(
    token: string,
    { signedInAs, name, password }: { signedInAs: string | undefined; name: string; password: string | undefined },
  ): Promise<Accepted> {
    const found = await this.invitation(token)
    if (found === undefined) return { result: 'gone' }
    // Another use of the same link, or of another link to the same e-mail, waits meanwhile.
    return this.#sql.transaction([`email ${found.email}`], async (sql): Promise<Accepted> => {
      const invitation = await this.#invitation(sql, token)
      if (invitation === undefined) return { result: 'gone' }
      const { email, membership, wantedName } = invitation
      const memberships = this.#memberships.in(sql)
      const known = await memberships.byEmail(email)
      const isHere = known !== undefined && known.id === signedInAs
      if (!isHere && (password === undefined || (known !== undefined && (await memberships.hasKey(known.id))))) return { result: 'signIn' }
      const person = known ?? (await memberships.add({ email, name, isProven: true }))
      if (!isHere && password !== undefined) await memberships.setPassword(person.id, password)
      if (membership === null) await memberships.makeOperator(person.id)
      else await memberships.join(person.id, membership, wantedName)
      await sql.run('UPDATE invitations SET used_at = $now WHERE token_hash = $hash', { hash: tokenHash(token), now: this.#now() })
      return { result: 'joined', person }
    })
  }

  /** The secret of a link by which a person sets a new password. The link is better-auth's own, as better-auth would mail it. */
  async reset(personId: string): Promise<string> {
    const token = newToken()
    const now = this.#now()
    const times = { now: new Date(now).toISOString(), expiresAt: new Date(now + HOUR_MS).toISOString() }
    await this.#sql.run(RESET, { id: newRowId(), identifier: `reset-password:${token}`, person: personId, ...times })
    return token
  }

  /** Ends every way in that an earlier owner of the address or mailbox may have: passkeys and other links. */
  forgetWays(personId: string): Promise<void> {
    return this.#sql.transaction([`person ${personId}`], async (sql) => {
      for (const forget of FORGET) await sql.run(forget, { person: personId })
    })
  }

  /** The secret of a link that signs the person in on the listener, once. */
  async signIn(listener: Listener, personId: string): Promise<string> {
    const token = newToken()
    const now = this.#now()
    await this.#sql.run('DELETE FROM links WHERE expires_at < $before', { before: now })
    await this.#sql.run(MAKE_LINK, { hash: tokenHash(token), person: personId, listener, expiresAt: now + SIGN_IN_LINK_MS })
    return token
  }

  /** The person whom the link signs in; undefined: the link was used, has expired or is for the other listener. */
  async follow(listener: Listener, token: string): Promise<Person | undefined> {
    const used = await this.#sql.get<{ person: string }>(USE_LINK, { hash: tokenHash(token), listener, now: this.#now() })
    return used === undefined ? undefined : await this.#memberships.byId(used.person)
  }

  async #invitation(sql: PeopleSql, token: string): Promise<Invitation | undefined> {
    const row = await sql.get<Row>(`${INVITATION} AND token_hash = $hash`, { hash: tokenHash(token), now: this.#now() })
    return row === undefined ? undefined : invitationOf(row)
  }
}

type Row = Omit<Invitation, 'membership'> & { accountId: string | null; role: Role | null }

const invitationOf = ({ accountId, role, ...row }: Row): Invitation => ({
  ...row,
  membership: accountId === null || role === null ? null : { accountId, role },
})

const INVITATION = `SELECT email, account_id AS "accountId", role, wanted_name AS "wantedName", invited_by AS "invitedBy", created_at AS "createdAt",
  expires_at AS "expiresAt" FROM invitations WHERE used_at IS NULL AND expires_at > $now`
const INVITE = `INSERT INTO invitations (token_hash, email, account_id, role, wanted_name, invited_by, created_at, expires_at)
  VALUES ($hash, $email, $account, $role, $wantedName, $invitedBy, $now, $expiresAt)`
const WITHDRAW = `DELETE FROM invitations
  WHERE email = $email AND used_at IS NULL AND account_id IS NOT DISTINCT FROM CAST($account AS TEXT)`
/** Written in the form that better-auth reads. */
const RESET = `INSERT INTO verification (id, identifier, value, "expiresAt", "createdAt", "updatedAt")
  VALUES ($id, $identifier, $person, $expiresAt, $now, $now)`
const MAKE_LINK = 'INSERT INTO links (token_hash, person, listener, expires_at) VALUES ($hash, $person, $listener, $expiresAt)'
const USE_LINK = `UPDATE links SET used_at = $now WHERE token_hash = $hash AND listener = $listener AND used_at IS NULL AND expires_at > $now
  RETURNING person`
const FORGET = [
  'DELETE FROM passkey WHERE "userId" = $person',
  'DELETE FROM links WHERE person = $person',
  "DELETE FROM verification WHERE value = $person AND identifier LIKE 'reset-password:%'",
] as const
