/**
 * One-time links: an invitation brings a person to an account or to the console, a sign-in link signs in whom it was made for. Each is used up in the
 * transaction in which it has its effect. Rules: pages.md "Links".
 */

import type { Database } from 'bun:sqlite'
import type { Listener } from './origins.ts'
import type { Membership, Role, Roster } from './roster.ts'
import type { Person } from './sessions.ts'
import { newRowId, newToken, tokenHash } from './token.ts'

/** `membership` null: to the console. `wantedName`: of the account that it makes; null where that is there. */
export type Invitation = Readonly<{
  email: string
  membership: Membership | null
  wantedName: string | null
  invitedBy: string
  createdAt: number
  expiresAt: number
}>

/** gone: used, expired, withdrawn or never made · signIn: the address has a way in already, and its owner must have used it. */
export type Accepted = Readonly<{ result: 'joined'; person: Person }> | Readonly<{ result: 'gone' | 'signIn' }>

const HOUR_MS = 3_600_000
const INVITATION_MS = 72 * HOUR_MS
/** Made for somebody who is about to follow it. */
const SIGN_IN_LINK_MS = HOUR_MS
/** Used and expired ones are kept so long, for the list. */
const KEEP_MS = 30 * 24 * HOUR_MS

export class Links {
  readonly #db: Database
  readonly #roster: Roster
  readonly #now: () => number
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: Database, roster: Roster, now: () => number) {
    this.#db = db
    this.#roster = roster
    this.#now = now
    this.#statements = prepare(db)
  }

  /** The link's secret. `invitedBy`: an actor, as the audit log writes it. `wantedName`: the account is not there yet, and gets this name. */
  invite(email: string, membership: Membership | null, invitedBy: string, wantedName: string | null = null): string {
    const token = newToken()
    const now = this.#now()
    this.#statements.pruneInvitations.run({ before: now - KEEP_MS })
    this.#statements.invite.run({
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

  /** What was not followed is void. `accountId` null: of the console. */
  withdraw(email: string, accountId: string | null): void {
    this.#statements.withdraw.run({ email, account: accountId })
  }

  /** Undefined: used, expired, withdrawn or never made. */
  invitation(token: string): Invitation | undefined {
    const row = this.#statements.invitation.get({ hash: tokenHash(token), now: this.#now() })
    return row === null ? undefined : invitationOf(row)
  }

  /** Those that can still be followed, newest first; of one account where it is named. */
  invitations(accountId?: string): readonly Invitation[] {
    return this.#statements.invitations.all({ account: accountId ?? null, now: this.#now() }).map(invitationOf)
  }

  /**
   * Uses the invitation up. `signedInAs`: whoever is signed in. Somebody without a way in gets one by `password`, its hash; whoever has one already must be
   * signed in: else an account's owner could take over a person by inviting him.
   */
  accept(
    token: string,
    { signedInAs, name, password }: { signedInAs: string | undefined; name: string; password: string | undefined },
  ): Accepted {
    return this.#db
      .transaction((): Accepted => {
        const hash = tokenHash(token)
        const row = this.#statements.invitation.get({ hash, now: this.#now() })
        if (row === null) return { result: 'gone' }
        const { email, membership, wantedName } = invitationOf(row)
        const known = this.#roster.byEmail(email)
        const isHere = known !== undefined && known.id === signedInAs
        if (!isHere && (password === undefined || (known !== undefined && this.#roster.hasKey(known.id)))) return { result: 'signIn' }
        const person = known ?? this.#roster.add({ email, name, isProven: true })
        if (!isHere && password !== undefined) this.#roster.setPassword(person.id, password)
        if (membership === null) this.#roster.makeOperator(person.id)
        else this.#roster.join(person.id, membership, wantedName)
        this.#statements.useInvitation.run({ hash, now: this.#now() })
        return { result: 'joined', person }
      })
      .immediate()
  }

  /** The secret of a link by which a person sets a new password; better-auth's own, as it would mail it. */
  reset(personId: string): string {
    const token = newToken()
    const now = this.#now()
    const times = { now: new Date(now).toISOString(), expiresAt: new Date(now + HOUR_MS).toISOString() }
    this.#statements.reset.run({ id: newRowId(), identifier: `reset-password:${token}`, person: personId, ...times })
    return token
  }

  /** Whoever held the address before, or the mailbox, keeps nothing: no passkey and no other link. */
  forgetWays(personId: string): void {
    this.#db
      .transaction(() => {
        for (const forget of this.#statements.forget) forget.run({ person: personId })
      })
      .immediate()
  }

  /** The secret of a link that signs that person in on that listener, once. */
  signIn(listener: Listener, personId: string): string {
    const token = newToken()
    const now = this.#now()
    this.#statements.pruneLinks.run({ before: now })
    this.#statements.makeLink.run({ hash: tokenHash(token), person: personId, listener, expiresAt: now + SIGN_IN_LINK_MS })
    return token
  }

  /** Whom it signs in; undefined: used, expired or for the other listener. */
  follow(listener: Listener, token: string): Person | undefined {
    const used = this.#statements.useLink.get({ hash: tokenHash(token), listener, now: this.#now() })
    return used === null ? undefined : this.#roster.byId(used.person)
  }
}

type Row = Omit<Invitation, 'membership'> & { accountId: string | null; role: Role | null }

const invitationOf = ({ accountId, role, ...row }: Row): Invitation => ({
  ...row,
  membership: accountId === null || role === null ? null : { accountId, role },
})

type Named = Record<string, string | number | null | Buffer>
const INVITATION = `SELECT email, account_id AS accountId, role, wanted_name AS wantedName, invited_by AS invitedBy, created_at AS createdAt, expires_at AS expiresAt
  FROM invitations WHERE used_at IS NULL AND expires_at > $now`

const prepare = (db: Database) => ({
  invite: db.query<unknown, [Named]>(
    `INSERT INTO invitations (token_hash, email, account_id, role, wanted_name, invited_by, created_at, expires_at)
     VALUES ($hash, $email, $account, $role, $wantedName, $invitedBy, $now, $expiresAt)`,
  ),
  pruneInvitations: db.query<unknown, [Named]>('DELETE FROM invitations WHERE expires_at < $before'),
  withdraw: db.query<unknown, [Named]>('DELETE FROM invitations WHERE email = $email AND used_at IS NULL AND account_id IS $account'),
  invitation: db.query<Row, [Named]>(`${INVITATION} AND token_hash = $hash`),
  invitations: db.query<Row, [Named]>(`${INVITATION} AND ($account IS NULL OR account_id = $account) ORDER BY created_at DESC`),
  useInvitation: db.query<unknown, [Named]>('UPDATE invitations SET used_at = $now WHERE token_hash = $hash'),
  // As better-auth reads it.
  reset: db.query<unknown, [Named]>(
    `INSERT INTO verification (id, identifier, value, expiresAt, createdAt, updatedAt) VALUES ($id, $identifier, $person, $expiresAt, $now, $now)`,
  ),
  makeLink: db.query<unknown, [Named]>(
    'INSERT INTO links (token_hash, person, listener, expires_at) VALUES ($hash, $person, $listener, $expiresAt)',
  ),
  pruneLinks: db.query<unknown, [Named]>('DELETE FROM links WHERE expires_at < $before'),
  useLink: db.query<{ person: string }, [Named]>(
    `UPDATE links SET used_at = $now WHERE token_hash = $hash AND listener = $listener AND used_at IS NULL AND expires_at > $now
     RETURNING person`,
  ),
  forget: [
    db.query<unknown, [Named]>('DELETE FROM passkey WHERE userId = $person'),
    db.query<unknown, [Named]>('DELETE FROM links WHERE person = $person'),
    db.query<unknown, [Named]>("DELETE FROM verification WHERE value = $person AND identifier LIKE 'reset-password:%'"),
  ],
})
