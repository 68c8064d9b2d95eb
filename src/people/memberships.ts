/** People and what each may see: the members of accounts, and operators. Rules: pages.md "People". */

import { findPeople } from './find-people.ts'
import type { PeopleSql, Subject } from './people-sql.ts'
import type { Person } from './sessions.ts'
import { newRowId } from './token.ts'

/** An owner may do all that a customer may; a reader may only look. */
export type Role = 'owner' | 'reader'
export type Membership = Readonly<{ accountId: string; role: Role }>

/** An account that a sign-up asks for and that the ledger has not confirmed. */
export type WantedAccount = Readonly<{ accountId: string; name: string }>

export type Member = Person & Readonly<{ role: Role }>
export type ListedPerson = Person & Readonly<{ isOperator: boolean; memberships: readonly Membership[]; sessions: number }>

/**
 * An address as browsers read one (https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address), so ASCII: it cannot look like another's address, and a mail
 * server reads it only as a name at a host.
 */
const EMAIL =
  /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** The address as it is stored and compared; undefined where the text is no address. */
export function emailOf(text: string): string | undefined {
  const email = text.trim().toLowerCase()
  return EMAIL.test(email) ? email : undefined
}

/** Whether mails go to the address: a person who signed up in a chat has one of a domain that can never exist (https://www.rfc-editor.org/rfc/rfc2606#section-2). */
export const hasMailbox = (email: string): boolean => !email.endsWith('.invalid')

/** The right that is taken from a person: one account, the console, or all rights. `keepsOwner`: refused where the account would have no owner left. */
export type Taken = Readonly<{ accountId: string; keepsOwner?: true }> | 'operator' | 'all'

export class Memberships {
  readonly #sql: PeopleSql
  readonly #now: () => number

  constructor(sql: PeopleSql, now: () => number) {
    this.#sql = sql
    this.#now = now
  }

  /** The same methods as part of a transaction. */
  in(sql: PeopleSql): Memberships {
    return new Memberships(sql, this.#now)
  }

  byEmail(email: string): Promise<Person | undefined> {
    return this.#sql.get<Person>('SELECT id, email, name FROM person WHERE email = $email', { email })
  }

  byId(id: string): Promise<Person | undefined> {
    return this.#sql.get<Person>('SELECT id, email, name FROM person WHERE id = $id', { id })
  }

  /** Whether the person has something to sign in with. */
  async hasKey(personId: string): Promise<boolean> {
    return (await this.hasPassword(personId)) || (await this.#sql.get(PASSKEY, { person: personId })) !== undefined
  }

  async hasPassword(personId: string): Promise<boolean> {
    return (await this.#sql.get(PASSWORD, { person: personId })) !== undefined
  }

  /** The person with that e-mail, made where there is none. `isProven`: the address is known to be the person's. */
  async add({ email, name, isProven }: { email: string; name: string; isProven: boolean }): Promise<Person> {
    await this.#sql.run(ADD, { id: newRowId(), email, name, isProven: isProven ? 1 : 0, now: this.#isoNow() })
    const person = await this.byEmail(email)
    if (person === undefined) throw new Error('a person was removed while being made')
    return person
  }

  /** `hash`: the hash of a password, as `Bun.password` writes it. */
  async setPassword(personId: string, hash: string): Promise<void> {
    await this.#sql.run(SET_PASSWORD, { id: newRowId(), person: personId, hash, now: this.#isoNow() })
  }

  /** False: the person has a password already. */
  setFirstPassword(personId: string, hash: string): Promise<boolean> {
    return this.#sql.transaction([`person ${personId}`], async (sql) => {
      const memberships = this.in(sql)
      if (await memberships.hasPassword(personId)) return false
      await memberships.setPassword(personId, hash)
      return true
    })
  }

  /** Undefined: the person is no member of that account, or its sign-up is not finished. */
  membership(personId: string, accountId: string): Promise<Membership | undefined> {
    return this.#sql.get<Membership>(`${MEMBERSHIP} AND account_id = $account`, { person: personId, account: accountId })
  }

  ofPerson(personId: string): Promise<readonly Membership[]> {
    return this.#sql.all<Membership>(`${MEMBERSHIP} ORDER BY created_at, account_id`, { person: personId })
  }

  membersOf(accountId: string): Promise<readonly Member[]> {
    return this.#sql.all<Member>(MEMBERS_OF, { account: accountId })
  }

  /** Adds a member; a person who is a member already gets the new role. `wantedName`: the ledger does not have the account until `finish` is called. */
  async join(personId: string, { accountId, role }: Membership, wantedName: string | null = null): Promise<void> {
    await this.#sql.run(JOIN, { person: personId, account: accountId, role, wantedName, now: this.#now() })
  }

  /** Why that member cannot get that role. `last owner`: the account would have no owner left; `none`: there is no such member. */
  async roleProblem(email: string, { accountId, role }: Membership): Promise<'last owner' | 'none' | undefined> {
    const members = await this.membersOf(accountId)
    if (!members.some((one) => one.email === email)) return 'none'
    return role !== 'owner' && isLastOwner(members, email) ? 'last owner' : undefined
  }

  /** Undefined: the role is changed. */
  changeRole(email: string, membership: Membership): Promise<'last owner' | 'none' | undefined> {
    return this.#sql.transaction([`account ${membership.accountId}`], async (sql) => {
      const memberships = this.in(sql)
      const problem = await memberships.roleProblem(email, membership)
      const person = await memberships.byEmail(email)
      if (problem === undefined && person !== undefined) await memberships.join(person.id, membership)
      return problem
    })
  }

  wanted(personId: string): Promise<readonly WantedAccount[]> {
    const wanted =
      'SELECT account_id AS "accountId", wanted_name AS name FROM memberships WHERE person = $person AND wanted_name IS NOT NULL'
    return this.#sql.all<WantedAccount>(wanted, { person: personId })
  }

  async finish(personId: string, accountId: string): Promise<void> {
    const finish = 'UPDATE memberships SET wanted_name = NULL WHERE person = $person AND account_id = $account'
    await this.#sql.run(finish, { person: personId, account: accountId })
  }

  async isOperator(personId: string): Promise<boolean> {
    return (await this.#sql.get('SELECT person FROM operators WHERE person = $person', { person: personId })) !== undefined
  }

  async makeOperator(personId: string): Promise<void> {
    const make = 'INSERT INTO operators (person, created_at) VALUES ($person, $now) ON CONFLICT DO NOTHING'
    await this.#sql.run(make, { person: personId, now: this.#now() })
  }

  /** The first few whose e-mail or name has that text, in lower case. */
  find(text: string, rows: number): Promise<readonly Person[]> {
    return findPeople(this.#sql, text, rows)
  }

  async list(): Promise<readonly ListedPerson[]> {
    const people = await this.#sql.all<Listed>(LIST, { now: this.#isoNow() })
    const memberships = Map.groupBy(await this.#sql.all<Membership & { person: string }>(ALL_MEMBERSHIPS), ({ person }) => person)
    return people.map(({ isOperator, ...person }) => ({
      ...person,
      isOperator: isOperator === 1,
      memberships: (memberships.get(person.id) ?? []).map(({ accountId, role }) => ({ accountId, role })),
    }))
  }

  /** Whether there is something of that right to take away, if only an invitation. */
  async mayTake(email: string, what: Taken): Promise<boolean> {
    const account = typeof what === 'object' ? what.accountId : null
    const invited = `SELECT email FROM invitations WHERE ${OPEN} ${what === 'all' ? '' : FROM} LIMIT 1`
    if ((await this.#sql.get(invited, { email, account })) !== undefined) return true
    const person = await this.byEmail(email)
    if (person === undefined || what === 'all') return person !== undefined
    return what === 'operator'
      ? this.isOperator(person.id)
      : (await this.#sql.get(ANY_MEMBERSHIP, { person: person.id, account })) !== undefined
  }

  /**
   * Takes a right away, with its sessions, links and open invitations; `none`: the person had no such right. `givenUntil`: only what was given by then, in Unix milliseconds.
   */
  remove(email: string, what: Taken, givenUntil = TIME_MAX_MS): Promise<'removed' | 'last owner' | 'none'> {
    const accountId = typeof what === 'object' ? what.accountId : null
    const subjects: readonly Subject[] = accountId === null ? [`email ${email}`] : [`account ${accountId}`, `email ${email}`]
    return this.#sql.transaction(subjects, async (sql) => {
      const memberships = this.in(sql)
      if (typeof what === 'object' && what.keepsOwner && isLastOwner(await memberships.membersOf(what.accountId), email))
        return 'last owner'
      const isUninvited =
        (await sql.run(what === 'all' ? UNINVITE : `${UNINVITE} ${FROM}`, { email, account: accountId, until: givenUntil })) > 0
      const person = await memberships.byEmail(email)
      return (person !== undefined && (await take(sql, person.id, what, givenUntil))) || isUninvited ? 'removed' : 'none'
    })
  }

  #isoNow(): string {
    return new Date(this.#now()).toISOString()
  }
}

/** False: the person had no such right. */
async function take(sql: PeopleSql, person: string, what: Taken, until: number): Promise<boolean> {
  if (what === 'all') return (await sql.run(TAKE_PERSON, { person, until: new Date(until).toISOString() })) > 0
  const isConsole = what === 'operator'
  const taken = isConsole
    ? await sql.run('DELETE FROM operators WHERE person = $person AND created_at <= $until', { person, until })
    : await sql.run(TAKE_MEMBERSHIP, { person, account: what.accountId, until })
  if (taken === 0) return false
  const listener = isConsole ? 'console' : 'cabinet'
  await sql.run('DELETE FROM session WHERE "userId" = $person AND listener = $listener', { person, listener })
  await sql.run('DELETE FROM links WHERE person = $person AND listener = $listener', { person, listener })
  return true
}

function isLastOwner(members: readonly Member[], email: string): boolean {
  const owners = members.filter(({ role }) => role === 'owner')
  return owners.length === 1 && owners[0]?.email === email
}

type Listed = Person & { isOperator: 0 | 1; sessions: number }

const PASSWORD = 'SELECT id FROM credential WHERE "userId" = $person AND password IS NOT NULL'
const PASSKEY = 'SELECT id FROM passkey WHERE "userId" = $person LIMIT 1'
const ADD = `INSERT INTO person (id, name, email, "emailVerified", "createdAt", "updatedAt") VALUES ($id, $name, $email, $isProven, $now, $now)
  ON CONFLICT (email) DO NOTHING`
const SET_PASSWORD = `INSERT INTO credential (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
  VALUES ($id, $person, 'credential', $person, $hash, $now, $now)
  ON CONFLICT ("userId", "providerId") DO UPDATE SET password = excluded.password, "updatedAt" = excluded."updatedAt"`
const MEMBERSHIP = 'SELECT account_id AS "accountId", role FROM memberships WHERE person = $person AND wanted_name IS NULL'
const ANY_MEMBERSHIP = 'SELECT person FROM memberships WHERE person = $person AND account_id = $account'
const ALL_MEMBERSHIPS = `SELECT person, account_id AS "accountId", role FROM memberships WHERE wanted_name IS NULL ORDER BY created_at, account_id`
const MEMBERS_OF = `SELECT id, email, name, role FROM memberships JOIN person ON person.id = memberships.person
  WHERE account_id = $account AND wanted_name IS NULL ORDER BY email`
const JOIN = `INSERT INTO memberships (person, account_id, role, wanted_name, created_at) VALUES ($person, $account, $role, $wantedName, $now)
  ON CONFLICT (person, account_id) DO UPDATE SET role = excluded.role`
const LIST = `SELECT id, email, name, CASE WHEN EXISTS (SELECT 1 FROM operators WHERE person = person.id) THEN 1 ELSE 0 END AS "isOperator",
    (SELECT count(*) FROM session WHERE "userId" = person.id AND "expiresAt" > $now) AS sessions
  FROM person ORDER BY email`
/** Later than all times that are written here. */
const TIME_MAX_MS = Date.UTC(9999, 0)
const TAKE_PERSON = 'DELETE FROM person WHERE id = $person AND "createdAt" <= $until'
const TAKE_MEMBERSHIP = 'DELETE FROM memberships WHERE person = $person AND account_id = $account AND created_at <= $until'
const OPEN = 'email = $email AND used_at IS NULL'
const UNINVITE = `DELETE FROM invitations WHERE ${OPEN} AND created_at <= $until`
const FROM = 'AND account_id IS NOT DISTINCT FROM CAST($account AS TEXT)'
