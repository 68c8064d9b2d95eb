/** A gateway with a bot, an account with money, and people whose chats are linked to it. */

import type { Operation } from '../../../src/ledger/operation.ts'
import type { Role } from '../../../src/people/memberships.ts'
import type { Person } from '../../../src/people/sessions.ts'
import { BOT_TOKEN, FakeTelegram, type Shown } from '../../support/fake-telegram.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts'
import { usd } from '../../support/ledger.ts'

export const ANN = 7_001
export const BOB = 7_002
export const NORTH = 'acc_north'

export class BotWorld {
  readonly telegram = new FakeTelegram()
  gateway: TestGateway
  readonly #options: TestGatewayOptions

  private constructor(gateway: TestGateway, telegram: FakeTelegram, options: TestGatewayOptions) {
    this.telegram = telegram
    this.gateway = gateway
    this.#options = options
  }

  static async start(options: TestGatewayOptions = {}): Promise<BotWorld> {
    const telegram = new FakeTelegram()
    const all = { botToken: BOT_TOKEN, telegramAddress: telegram.address, ...options }
    const world = new BotWorld(await startTestGateway(all), telegram, all)
    await world.makeAccount(NORTH)
    return world
  }

  /** Another process takes the place of this one, with what it has left in the store. */
  async restart(): Promise<void> {
    const { ledgerPath } = this.gateway
    await this.gateway.drain()
    this.gateway = await startTestGateway({ ...this.#options, ledgerPath })
  }

  makeAccount(accountId: string, balanceUsd = '25'): Promise<void> {
    const topUp = { creditId: `crd_${accountId}`, amountPicos: usd(balanceUsd), ref: '' }
    return this.gateway.operate({ kind: 'createAccount', accountId, name: '', topUp, now: Date.now() } satisfies Operation)
  }

  /** A person of the account. */
  async person(email: string, accountId = NORTH, role: Role = 'owner'): Promise<Person> {
    const { memberships } = this.gateway.people()
    const person = (await memberships.byEmail(email)) ?? (await memberships.add({ email, name: email, isProven: true }))
    await memberships.join(person.id, { accountId, role })
    return person
  }

  async code(email: string, accountId = NORTH, role: Role = 'owner'): Promise<string> {
    const person = await this.person(email, accountId, role)
    const made = await this.gateway.people().chats.makeCode({ personId: person.id, accountId })
    if (made === undefined) throw new Error('no code')
    return made.code
  }

  async link(chat: number, email: string, accountId = NORTH, role: Role = 'owner'): Promise<Shown> {
    return this.telegram.ask(chat, `/start ${await this.code(email, accountId, role)}`)
  }

  /** Makes a key in the chat, and gives the message with its secret. */
  async newKey(chat: number, name: string): Promise<Shown> {
    await this.telegram.ask(chat, '/keys')
    await this.telegram.tap(chat, 'New key')
    return this.telegram.ask(chat, name)
  }

  /** Opens a key of the list. */
  async openKey(chat: number, name: string): Promise<Shown> {
    const { buttons } = await this.telegram.ask(chat, '/keys')
    const button = buttons.find(({ text }) => text.startsWith(name))
    if (button === undefined) throw new Error(`no key ${name}`)
    return this.telegram.tap(chat, button.text)
  }

  async keys(accountId = NORTH) {
    const page = await this.gateway.world.reports.ask('test', { kind: 'accountKeys', accountId, limit: 50 })
    if (typeof page !== 'object') throw new Error(String(page))
    return page.rows
  }

  async balance(accountId = NORTH): Promise<bigint> {
    const account = await this.gateway.world.reports.ask('test', { kind: 'account', accountId })
    if (typeof account !== 'object') throw new Error(String(account))
    return account.balancePicos
  }

  async audit() {
    const page = await this.gateway.world.reports.ask('test', { kind: 'audit', limit: 100 })
    if (typeof page === 'string') throw new Error(page)
    return page.rows
  }

  /** Whether the gateway takes the secret. */
  async isTaken(secret: string): Promise<boolean> {
    const answer = await fetch(`${this.gateway.url}/v1/dashboard/key`, { headers: { authorization: `Bearer ${secret}` } })
    await answer.arrayBuffer()
    return answer.status === 200
  }

  async end(): Promise<void> {
    await this.gateway.stop()
    await this.telegram.stop()
  }
}
