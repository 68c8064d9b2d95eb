/** Who there is, and what each may see: members of accounts, operators. Rules: pages.md "People". */

import type { Database } from 'bun:sqlite'
import type { Person } from './sessions.ts'
import { newRowId } from './token.ts'

/** An owner may do all that a customer may; a reader only looks. */
export type Role = 'owner' | 'reader'
export type Membership = Readonly<{ accountId: string; role: Role }>

/** An account that a sign-up wants and the ledger has not confirmed. */
export type WantedAccount = Readonly<{ accountId: string; name: string }>

export type Member = Person & Readonly<{ role: Role }>
export type ListedPerson = Person & Readonly<{ isOperator: boolean; memberships: readonly Membership[]; sessions: number }>

/**
 * As browsers read one (https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address), so ASCII: nothing that only looks like another's address, and
 * nothing that a mail server reads as more than a name at a host.
 */
const EMAIL =
  /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** As it is stored and compared; undefined where it is no address. */
export function emailOf(text: string): string | undefined {
  const email = text.trim().toLowerCase()
  return EMAIL.test(email) ? email : undefined
}

export class Roster {
  readonly #db: Database
  readonly #now: () => number
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
    this.#statements = prepare(db)
  }

  byEmail(email: string): Person | undefined {
    return this.#statements.byEmail.get({ email }) ?? undefined
  }

  byId(id: string): Person | undefined {
    return this.#statements.byId.get({ id }) ?? undefined
  }

  /** Whether the person has something to sign in with. */
  hasKey(personId: string): boolean {
    return this.#statements.hasKey.get({ person: personId })?.found === 1
  }

  hasPassword(personId: string): boolean {
    return this.#statements.hasPassword.get({ person: personId }) !== null
  }

  /** `isProven`: the address is known to be theirs. */
  add({ email, name, isProven }: { email: string; name: string; isProven: boolean }): Person {
    const id = newRowId()
    this.#statements.add.run({ id, email, name, isProven: isProven ? 1 : 0, now: new Date(this.#now()).toISOString() })
    return { id, email, name }
  }

  /** `hash`: of a password, as `Bun.password` writes it. */
  setPassword(personId: string, hash: string): void {
    this.#statements.setPassword.run({ id: newRowId(), person: personId, hash, now: new Date(this.#now()).toISOString() })
  }

  /** False: there is one. */
  setFirstPassword(personId: string, hash: string): boolean {
    return this.#db
      .transaction(() => {
        if (this.hasPassword(personId)) return false
        this.setPassword(personId, hash)
        return true
      })
      .immediate()
  }

  /** Undefined: not a member of that account, or its sign-up is not finished. */
  membership(personId: string, accountId: string): Membership | undefined {
    return this.#statements.membership.get({ person: personId, account: accountId }) ?? undefined
  }

  memberships(personId: string): readonly Membership[] {
    return this.#statements.memberships.all({ person: personId })
  }

  membersOf(accountId: string): readonly Member[] {
    return this.#statements.membersOf.all({ account: accountId })
  }

  /** A member already: the role is the new one. `wantedName`: the ledger has the account only when `finish` is told so. */
  join(personId: string, { accountId, role }: Membership, wantedName: string | null = null): void {
    this.#statements.join.run({ person: personId, account: accountId, role, wantedName, now: this.#now() })
  }

  wanted(personId: string): readonly WantedAccount[] {
    return this.#statements.wanted.all({ person: personId })
  }

  finish(personId: string, accountId: string): void {
    this.#statements.finish.run({ person: personId, account: accountId })
  }

  isOperator(personId: string): boolean {
    return this.#statements.isOperator.get({ person: personId }) !== null
  }

  makeOperator(personId: string): void {
    this.#statements.makeOperator.run({ person: personId, now: this.#now() })
  }

  list(): readonly ListedPerson[] {
    const now = new Date(this.#now()).toISOString()
    return this.#statements.list.all({ now }).map(({ isOperator, ...person }) => ({
      ...person,
      isOperator: isOperator === 1,
      memberships: this.memberships(person.id),
    }))
  }

  /** What was taken takes its sessions, links and open invitations with it; `false`: there was nothing to take. */
  remove(email: string, what: { accountId: string } | 'operator' | 'all'): boolean {
    return this.#db
      .transaction(() => {
        const person = this.byEmail(email)
        const isConsole = what === 'operator'
        const accountId = typeof what === 'object' ? what.accountId : null
        const uninvited = this.#statements.uninvite.run({ email, account: accountId, all: what === 'all' ? 1 : 0 }).changes > 0
        if (person === undefined) return uninvited
        if (what === 'all') return this.#statements.remove.run({ id: person.id }).changes > 0
        const taken = (isConsole ? this.#statements.unmakeOperator : this.#statements.leave).run({ person: person.id, account: accountId })
        if (taken.changes === 0) return uninvited
        const listener = isConsole ? 'console' : 'cabinet'
        this.#statements.endSessions.run({ person: person.id, listener })
        this.#statements.endLinks.run({ person: person.id, listener })
        return true
      })
      .immediate()
  }
}

type Named = Record<string, string | number | null>
type Listed = Person & { isOperator: 0 | 1; sessions: number }

const prepare = (db: Database) => ({
  byEmail: db.query<Person, [Named]>('SELECT id, email, name FROM person WHERE email = $email'),
  byId: db.query<Person, [Named]>('SELECT id, email, name FROM person WHERE id = $id'),
  hasKey: db.query<{ found: 0 | 1 }, [Named]>(
    `SELECT EXISTS (SELECT 1 FROM credential WHERE userId = $person AND password IS NOT NULL)
       OR EXISTS (SELECT 1 FROM passkey WHERE userId = $person) AS found`,
  ),
  hasPassword: db.query<{ id: string }, [Named]>('SELECT id FROM credential WHERE userId = $person AND password IS NOT NULL'),
  add: db.query<unknown, [Named]>(
    'INSERT INTO person (id, name, email, emailVerified, createdAt, updatedAt) VALUES ($id, $name, $email, $isProven, $now, $now)',
  ),
  setPassword: db.query<unknown, [Named]>(
    `INSERT INTO credential (id, accountId, providerId, userId, password, createdAt, updatedAt)
     VALUES ($id, $person, 'credential', $person, $hash, $now, $now)
     ON CONFLICT (userId, providerId) DO UPDATE SET password = $hash, updatedAt = $now`,
  ),
  membership: db.query<Membership, [Named]>(
    'SELECT account_id AS accountId, role FROM memberships WHERE person = $person AND account_id = $account AND wanted_name IS NULL',
  ),
  memberships: db.query<Membership, [Named]>(
    'SELECT account_id AS accountId, role FROM memberships WHERE person = $person AND wanted_name IS NULL ORDER BY created_at, account_id',
  ),
  membersOf: db.query<Member, [Named]>(
    `SELECT id, email, name, role FROM memberships JOIN person ON person.id = memberships.person
     WHERE account_id = $account AND wanted_name IS NULL ORDER BY email`,
  ),
  join: db.query<unknown, [Named]>(
    `INSERT INTO memberships (person, account_id, role, wanted_name, created_at) VALUES ($person, $account, $role, $wantedName, $now)
     ON CONFLICT (person, account_id) DO UPDATE SET role = $role`,
  ),
  wanted: db.query<WantedAccount, [Named]>(
    'SELECT account_id AS accountId, wanted_name AS name FROM memberships WHERE person = $person AND wanted_name IS NOT NULL',
  ),
  finish: db.query<unknown, [Named]>('UPDATE memberships SET wanted_name = NULL WHERE person = $person AND account_id = $account'),
  isOperator: db.query<{ person: string }, [Named]>('SELECT person FROM operators WHERE person = $person'),
  makeOperator: db.query<unknown, [Named]>('INSERT INTO operators (person, created_at) VALUES ($person, $now) ON CONFLICT DO NOTHING'),
  list: db.query<Listed, [Named]>(
    `SELECT id, email, name, EXISTS (SELECT 1 FROM operators WHERE person = person.id) AS isOperator,
       (SELECT count(*) FROM session WHERE userId = person.id AND expiresAt > $now) AS sessions
     FROM person ORDER BY email`,
  ),
  remove: db.query<unknown, [Named]>('DELETE FROM person WHERE id = $id'),
  uninvite: db.query<unknown, [Named]>(
    'DELETE FROM invitations WHERE email = $email AND used_at IS NULL AND ($all OR account_id IS $account)',
  ),
  leave: db.query<unknown, [Named]>('DELETE FROM memberships WHERE person = $person AND account_id = $account'),
  unmakeOperator: db.query<unknown, [Named]>('DELETE FROM operators WHERE person = $person AND $account IS NULL'),
  endSessions: db.query<unknown, [Named]>('DELETE FROM session WHERE userId = $person AND listener = $listener'),
  endLinks: db.query<unknown, [Named]>('DELETE FROM links WHERE person = $person AND listener = $listener'),
})
