/** People in a file of their own with a clock that only moves when told, behind the endpoints of both listeners, asked as a browser asks them. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnyElysia, Elysia } from 'elysia'
import type { Mail } from '../../src/people/mail.ts'
import type { WantedAccount } from '../../src/people/memberships.ts'
import { type Listener, originsOf } from '../../src/people/origins.ts'
import { People, type PeopleSettings } from '../../src/people/people.ts'
import { apiErrors } from '../../src/web/api/answers.ts'
import { callerMacro, originGuard } from '../../src/web/api/caller.ts'
import { firstPassword } from '../../src/web/api/first-password.ts'
import { invited } from '../../src/web/api/invited.ts'
import { meRoutes } from '../../src/web/api/me.ts'
import { signInRoutes } from '../../src/web/api/sign-in-routes.ts'
import { signUp } from '../../src/web/api/sign-up.ts'
import { takePeoplePlace } from './people-place.ts'

export const PEOPLE_START = Date.UTC(2026, 10, 21, 12)
export const PASSWORD = 'correct horse battery'

export type PeopleWorldOptions = Readonly<{ publicUrl?: string; consoleUrl?: string; signUp?: 'closed' | 'open'; sendsMail?: boolean }>

const TABLES = ['person', 'session', 'credential', 'verification', 'passkey', 'memberships', 'operators', 'invitations', 'links', 'secrets']

export class PeopleWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-people-'))
  readonly place = takePeoplePlace(this.folder)
  readonly people: People
  now = PEOPLE_START
  /** What was waited for. */
  slept: number[] = []
  made: WantedAccount[] = []
  isLedgerUp = true
  readonly mails: Mail[] = []
  readonly bugs: unknown[] = []
  readonly settings: PeopleSettings
  readonly #apps: Readonly<Record<Listener, { handle(request: Request): Promise<Response> }>>
  #accounts = 0
  /** What is done after an answer has gone. */
  readonly #behind = new Set<Promise<void>>()
  readonly #sendsMail: boolean

  constructor({ publicUrl, consoleUrl, signUp = 'closed', sendsMail = false }: PeopleWorldOptions = {}) {
    this.#sendsMail = sendsMail
    this.settings = {
      signUp,
      origins: (listener) =>
        listener === 'cabinet' ? originsOf(publicUrl, 'http://127.0.0.1:8080') : originsOf(consoleUrl, 'http://127.0.0.1:9090'),
    }
    this.people = this.open()
    this.#apps = { cabinet: this.#app('cabinet'), console: this.#app('console') }
  }

  /** As another process opens it. */
  open(): People {
    const people = new People({
      place: this.place,
      now: () => this.now,
      monotonicMs: () => this.now,
      sleep: (ms) => {
        this.slept.push(ms)
        return Promise.resolve()
      },
      settings: () => this.settings,
      makeAccount: ({ accountId, name }) => {
        if (this.isLedgerUp) this.made.push({ accountId, name })
        return Promise.resolve(this.isLedgerUp)
      },
      mailer: this.#sendsMail
        ? {
            send: (mail) => {
              this.mails.push(mail)
              return Promise.resolve(null)
            },
          }
        : undefined,
      onMailFault: (problem) => this.bugs.push(problem),
      onBug: (bug) => this.bugs.push(bug),
    })
    const { later } = { later: people.later.bind(people) }
    people.later = (work) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#behind.add(promise)
      later(() => Promise.try(work).finally(resolve))
    }
    return people
  }

  #app(listener: Listener) {
    const people = () => this.people
    const accountName = (accountId: string) => Promise.resolve(`name of ${accountId}`)
    // Their types beside the others are more than the compiler takes.
    const entries: AnyElysia = new Elysia()
      .use(firstPassword(people, listener))
      .use(invited(people, listener, accountName))
      .use(signUp(people, () => `acc_${++this.#accounts}`, listener))
    return (
      new Elysia({ strictPath: true, handler: { standardHostname: false } })
        .use(apiErrors())
        .use(originGuard(people, listener))
        .use(meRoutes({ people, accountName }, listener))
        .use(entries)
        .use(signInRoutes(people, listener))
        // As the page does, which has every GET that nobody else wants.
        .get(`/${listener}/*`, () => new Response('"the page"'))
        .use(
          new Elysia({ prefix: `/${listener}/api` })
            .use(callerMacro(people, listener))
            .get('/accounts/:accountId/keys', ({ caller, membership }) => ({ by: caller.actor, role: membership.role }), {
              member: 'reader',
            })
            .post('/accounts/:accountId/keys', ({ caller }) => ({ by: caller.actor }), { member: 'owner' }),
        )
    )
  }

  /** As the listener's pages are asked behind their mount. */
  ask(listener: Listener, request: Request): Promise<Response> {
    return this.#apps[listener].handle(request)
  }

  browser(listener: Listener = 'cabinet', address = '192.0.2.1'): Browser {
    const settled = async (): Promise<void> => void (await Promise.all(this.#behind))
    return new Browser(this.#apps[listener], this.people.origins(listener).base, listener, address, settled)
  }

  /** A person with a password who is a member of an account. */
  async add(email: string, accountId = 'acc_north', role: 'owner' | 'reader' = 'owner'): Promise<Browser> {
    const token = await this.people.links.invite(email, { accountId, role }, 'os:test')
    const browser = this.browser()
    const { status } = await browser.post('/auth/invite', { token, password: PASSWORD })
    if (status !== 200) throw new Error(`the invitation was answered ${status}`)
    return browser
  }

  /** All that the store has: a row a line, as JSON. */
  async written(): Promise<readonly string[]> {
    const rows = await Promise.all(TABLES.map((table) => this.people.db.all(`SELECT * FROM ${table}`)))
    return rows.flat().map((row) => JSON.stringify(row, (_, value: unknown) => (value instanceof Uint8Array ? value.toHex() : value)))
  }

  async remove(): Promise<void> {
    await this.people.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

type Answer = Readonly<{ status: number; body: Record<string, unknown>; headers: Headers }>

export class Browser {
  readonly #app: { handle(request: Request): Promise<Response> }
  readonly #root: Listener
  cookies = new Map<string, string>()
  /** The newest `set-cookie`, as it was sent. */
  setCookie = ''
  origin: string | null
  base: string
  address: string
  readonly #settled: () => Promise<void>

  constructor(
    app: { handle(request: Request): Promise<Response> },
    base: string,
    root: Listener,
    address: string,
    settled: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#settled = settled
    this.#app = app
    this.base = base
    this.origin = base
    this.#root = root
    this.address = address
  }

  get = (path: string): Promise<Answer> => this.send('GET', path)
  post = (path: string, body: unknown): Promise<Answer> => this.send('POST', path, body)
  delete = (path: string): Promise<Answer> => this.send('DELETE', path)

  /** With the password that every person here has. */
  signIn = (email: string, password = PASSWORD): Promise<Answer> => this.post('/auth/sign-in/email', { email, password })

  async send(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> {
    const headers = new Headers({ 'x-tollgate-client-address': this.address, 'user-agent': 'test', ...more })
    if (this.cookies.size > 0) headers.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    if (this.origin !== null && method !== 'GET') headers.set('origin', this.origin)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
    // TLS ends before the gateway.
    const answer = await this.#app.handle(new Request(`${this.base.replace('https:', 'http:')}/${this.#root}${path}`, init))
    for (const cookie of answer.headers.getSetCookie()) this.#take(cookie)
    const text = await answer.text()
    // What is done behind an answer is done before the next request comes.
    await this.#settled()
    await Bun.sleep(1)
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
  }

  #take(cookie: string): void {
    this.setCookie = cookie
    const [pair = ''] = cookie.split(';')
    const at = pair.indexOf('=')
    if (/max-age=0/i.test(cookie)) this.cookies.delete(pair.slice(0, at))
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1))
  }
}
