/**
 * The people of one gateway: their store, memberships, sessions, links and sign-in. The store is opened with the first question; better-auth is loaded with the first
 * sign-in. Rules: pages.md "People", "Links", "Signing up".
 */

import { SignInDelays } from '../core/sign-in-delay.ts'
import { Chats } from './chats.ts'
import { CodeGuesses } from './code-guesses.ts'
import { type Email, resetMail } from './email-templates.ts'
import type { Identity } from './identity.ts'
import { Links } from './links.ts'
import type { Mailer } from './mail.ts'
import { hasMailbox, Memberships, type WantedAccount } from './memberships.ts'
import { openPeople, type PeoplePlace } from './open-people.ts'
import type { Listener, Origins } from './origins.ts'
import { PasswordTurns } from './password-turns.ts'
import type { PeopleStore } from './people-sql.ts'
import { CHANGES, CHECKOUTS, ChallengeTurns, MailTurns, PersonTurns, SignUpTurns, UnknownLinkTurns } from './rate-limits.ts'
import { type Person, Sessions, type SignedIn } from './sessions.ts'
import { Views } from './views.ts'

/** Settings that a reload may change, read when they are needed. */
export type PeopleSettings = Readonly<{
  signUp: 'closed' | 'open'
  origins(listener: Listener): Origins
}>

export type PeopleOptions = Readonly<{
  place: PeoplePlace
  /** Unix milliseconds. */
  now: () => number
  /** Milliseconds that never jump. */
  monotonicMs: () => number
  sleep: (ms: number) => Promise<void>
  settings: () => PeopleSettings
  /** Makes an account with no money; a second call with the same account changes nothing. False: it cannot be made now. */
  makeAccount: (account: WantedAccount & { email: string; address: string }) => Promise<boolean>
  /** Undefined: no mail is set up. */
  mailer: Pick<Mailer, 'send'> | undefined
  onBug: (bug: unknown) => void
  /** Called with what went wrong, in a word. */
  onMailFault: (problem: string) => void
}>

type SigningUp = Readonly<{ email: string; name: string; password: string; accountId: string }>

export class People {
  readonly db: PeopleStore
  readonly memberships: Memberships
  readonly links: Links
  readonly chats: Chats
  readonly sessions: Sessions
  readonly views: Views
  readonly delays = new SignInDelays()
  readonly passwordTurns = new PasswordTurns()
  readonly codeGuesses = new CodeGuesses()
  readonly writePace = new PersonTurns(CHANGES)
  readonly checkoutTurns = new PersonTurns(CHECKOUTS)
  readonly signUpTurns = new SignUpTurns()
  readonly challengeTurns = new ChallengeTurns()
  readonly unknownLinkTurns = new UnknownLinkTurns()
  readonly monotonicMs: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly #options: PeopleOptions
  readonly #mailTurns = new MailTurns()
  readonly #identities = new Map<Listener, { key: string; identity: Identity }>()

  /** Throws as `openPeople` does. */
  constructor(options: PeopleOptions) {
    this.#options = options
    this.monotonicMs = options.monotonicMs
    this.sleep = options.sleep
    this.db = openPeople(options.place)
    this.memberships = new Memberships(this.db, options.now)
    this.links = new Links(this.db, this.memberships, options.now)
    this.chats = new Chats(this.db, options.now)
    this.sessions = new Sessions(this.db, options.now)
    this.views = new Views(this.db, options.now)
  }

  get settings(): PeopleSettings {
    return this.#options.settings()
  }

  origins(listener: Listener): Origins {
    return this.settings.origins(listener)
  }

  /** The person of a request with these cookies; undefined: not signed in on this listener. */
  signedIn(listener: Listener, cookies: string | null): Promise<SignedIn | undefined> {
    return this.sessions.read(listener, cookies, this.origins(listener).isHttps)
  }

  /** The address of a page that signs the person in, once and within the hour. */
  async signInLink(listener: Listener, person: Person): Promise<string> {
    return `${this.origins(listener).base}/${listener}/link/${await this.links.signIn(listener, person.id)}`
  }

  /** A person who may come in without an invitation, for the first steps; made where there is no such person yet. */
  async known(email: string): Promise<Person> {
    return (await this.memberships.byEmail(email)) ?? (await this.memberships.add({ email, name: email, isProven: true }))
  }

  /** better-auth for the listener, as it is configured now. */
  async identity(listener: Listener): Promise<Identity> {
    const origins = this.origins(listener)
    const key = JSON.stringify(origins)
    const made = this.#identities.get(listener)
    if (made?.key === key) return made.identity
    const { makeIdentity } = await import('./identity.ts')
    const identity = makeIdentity({
      sql: this.db,
      listener,
      origins,
      secret: await this.sessions.secretOf(listener),
      isOperator: (personId) => this.memberships.isOperator(personId),
      sendReset: this.sendsMail
        ? (email, token) => this.mail(email, `${listener} reset`, () => resetMail(`${origins.base}/${listener}/reset/${token}`))
        : undefined,
      onReset: (personId) => this.links.forgetWays(personId),
      onBug: this.#options.onBug,
    })
    this.#identities.set(listener, { key, identity })
    return identity
  }

  get sendsMail(): boolean {
    return this.#options.mailer !== undefined
  }

  /**
   * Sends a mail; the caller does not wait for the sending. `kind`: mails of one kind do not delay those of another. `write` is called only when the mail is sent.
   * False: no mail server is set up, or a mail of this kind has just gone to the address.
   */
  async mail(email: string, kind: string, write: () => Email | Promise<Email>): Promise<boolean> {
    if (!this.mayMail(email, kind)) return false
    this.send(email, await write())
    return true
  }

  /** Whether a mail of that kind may go to that address now; if so, it counts as sent. */
  mayMail(email: string, kind: string): boolean {
    return this.sendsMail && hasMailbox(email) && this.#mailTurns.take(email, kind, this.monotonicMs())
  }

  send(to: string, email: Email): void {
    this.#options.mailer?.send({ to, ...email }).then(
      (problem) => {
        if (problem !== null) this.#options.onMailFault(problem)
      },
      (bug: unknown) => this.#options.onBug(bug),
    )
  }

  /** Runs `work` after the answer was sent, so that the answer's time does not reveal whether there was something to do. */
  later(work: () => unknown): void {
    setTimeout(() => Promise.try(work).catch(this.#options.onBug), 0)
  }

  /** Undefined: the address has an account already. `finishSignUp` makes the account in the ledger. `password`: its hash. */
  signUp({ email, name, password, accountId }: SigningUp): Promise<Person | undefined> {
    return this.db.transaction([`email ${email}`], async (sql) => {
      const memberships = this.memberships.in(sql)
      if ((await memberships.byEmail(email)) !== undefined) return undefined
      const person = await memberships.add({ email, name, isProven: false })
      await memberships.setPassword(person.id, password)
      await memberships.join(person.id, { accountId, role: 'owner' }, email)
      return person
    })
  }

  /** Asks the ledger for the accounts that a sign-up of this person began and did not finish. False: not all of them exist now. */
  async finishSignUp({ id, email }: Person, address: string): Promise<boolean> {
    for (const wanted of await this.memberships.wanted(id)) {
      if (!(await this.#options.makeAccount({ ...wanted, email, address }))) return false
      await this.memberships.finish(id, wanted.accountId)
    }
    return true
  }

  close(): Promise<void> {
    return this.db.close()
  }
}
