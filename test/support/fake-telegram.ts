/**
 * A server that stands for Telegram's Bot API (https://core.telegram.org/bots/api), as grammY meets it: updates that are kept until a later one is asked for, one poller at a
 * time, private chats with their messages and buttons; slow-downs, and a network that is dead.
 */

import { until } from './until.ts'

export const BOT_TOKEN = '123456789:AAFnotarealtokenofabot_0123456789'
export const BOT_NAME = 'tollgate_test_bot'

export type Shown = { id: number; text: string; code: string; buttons: { text: string; data?: string; url?: string }[] }
type Payload = Record<string, never> & Record<string, unknown>
type Update = { update_id: number } & Record<string, unknown>

const POLL_MS = 150
/** How long a chat that is slowed down is to wait. */
export const FLOOD_S = 3

export class FakeTelegram {
  readonly #chats = new Map<number, Shown[]>()
  readonly calls: { method: string; payload: Payload }[] = []
  /** A chat that is slowed down: so many messages to it are refused. */
  readonly floods = new Map<number, number>()
  /** Chats that have blocked the bot. */
  readonly blocked = new Set<number>()
  token = BOT_TOKEN
  /** How often two pollers met. */
  conflicts = 0
  /** What a question for updates is answered with instead. */
  updates: (() => readonly unknown[]) | undefined
  /** Called before a message is taken. */
  onSend: (chat: number) => Promise<void> | void = () => undefined
  #updates: Update[] = []
  #nextUpdate = 1_000
  #nextMessage = 1
  #polling: (() => void) | undefined
  #server = this.#serve(0)
  readonly #port = this.#server.port ?? 0

  get address() {
    return { apiRoot: `http://127.0.0.1:${this.#port}`, lookEveryMs: 50 }
  }

  /** The network is dead: nothing listens. */
  async die(): Promise<void> {
    this.#polling?.()
    await this.#server.stop(true)
  }

  live(): void {
    this.#server = this.#serve(this.#port)
  }

  async stop(): Promise<void> {
    this.#polling?.()
    await this.#server.stop(true)
  }

  /** Updates that the bot has not confirmed. */
  get waiting(): number {
    return this.#updates.length
  }

  messages(chat: number): readonly Shown[] {
    return this.#chats.get(chat) ?? []
  }

  /** The newest message of the bot in the chat. */
  last(chat: number): Shown | undefined {
    return this.messages(chat).at(-1)
  }

  /** `more`: other fields of the message, `chat` among them. */
  write(user: number, text: string, more: Record<string, unknown> = {}): void {
    const from = { id: user, is_bot: false, first_name: `User ${user}`, username: `user${user}` }
    this.push({ message: { message_id: this.#nextMessage++, from, chat: { id: user, type: 'private' }, date: 0, text, ...more } })
  }

  /** Presses the newest button with that text; `data`: what a forged press says in place of it. */
  press(user: number, text: string, data?: string): void {
    const message = this.messages(user).findLast(({ buttons }) => data !== undefined || buttons.some((button) => button.text === text))
    const button = message?.buttons.find((one) => one.text === text)
    if (message === undefined || (button === undefined && data === undefined)) throw new Error(`no button ${text}`)
    this.pressed(user, message.id, data ?? button?.data ?? '')
  }

  pressed(user: number, message: number, data: string, chat: object = { id: user, type: 'private' }): void {
    const from = { id: user, is_bot: false, first_name: `User ${user}` }
    this.push({ callback_query: { id: `press_${this.#nextUpdate}`, from, message: { message_id: message, chat, date: 0 }, data } })
  }

  push(update: object): void {
    this.#updates.push({ update_id: this.#nextUpdate++, ...update })
    this.#polling?.()
  }

  /** Numbers go on from here. */
  numberFrom(number: number): void {
    this.#nextUpdate = number
  }

  /** Writes, and waits for the next message, or change of one, in the chat. */
  ask(user: number, text: string): Promise<Shown> {
    return this.#answered(user, () => this.write(user, text))
  }

  tap(user: number, text: string, data?: string): Promise<Shown> {
    return this.#answered(user, () => this.press(user, text, data))
  }

  async #answered(user: number, act: () => void): Promise<Shown> {
    const before = this.#shownCount(user)
    act()
    await until(() => this.#shownCount(user) > before, `the bot answers ${user}`)
    return this.#newest.get(user) ?? { id: 0, text: '', code: '', buttons: [] }
  }

  readonly #shown = new Map<number, number>()
  readonly #newest = new Map<number, Shown>()
  #shownCount(user: number): number {
    return this.#shown.get(user) ?? 0
  }
  #show(chat: number, message: Shown): void {
    this.#newest.set(chat, message)
    this.#shown.set(chat, this.#shownCount(chat) + 1)
  }

  #serve(port: number) {
    return Bun.serve({
      port,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: async (request) => {
        const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(new URL(request.url).pathname) ?? []
        if (token !== this.token) return problem(401, 'Unauthorized')
        const payload = (await request.json()) as Payload
        this.calls.push({ method, payload })
        return this.#answer(method, payload)
      },
    })
  }

  async #answer(method: string, payload: Payload): Promise<Response> {
    const chat = Number(payload['chat_id'])
    switch (method) {
      case 'getMe':
        return ok({ id: 123456789, is_bot: true, first_name: 'Gate', username: BOT_NAME })
      case 'getUpdates':
        return this.#poll(payload)
      case 'sendMessage':
        return (await this.#refused(chat)) ?? this.#send(chat, payload)
      case 'editMessageText':
        return (await this.#refused(chat)) ?? this.#edit(chat, payload)
      case 'editMessageReplyMarkup': {
        const message = this.#find(chat, payload)
        if (message === undefined) return problem(400, 'Bad Request: message to edit not found')
        message.buttons = buttonsOf(payload)
        return ok(true)
      }
      case 'deleteMessage':
        if (this.#find(chat, payload) === undefined) return problem(400, 'Bad Request: message to delete not found')
        this.#chats.set(
          chat,
          this.messages(chat).filter(({ id }) => id !== payload['message_id']),
        )
        return ok(true)
      default:
        return ok(true)
    }
  }

  async #refused(chat: number): Promise<Response | undefined> {
    await this.onSend(chat)
    if (this.blocked.has(chat)) return problem(403, 'Forbidden: bot was blocked by the user')
    const floods = this.floods.get(chat) ?? 0
    if (floods === 0) return undefined
    this.floods.set(chat, floods - 1)
    return problem(429, `Too Many Requests: retry after ${FLOOD_S}`, { retry_after: FLOOD_S })
  }

  #send(chat: number, payload: Payload): Response {
    const message = { id: this.#nextMessage++, ...shownOf(payload) }
    this.#chats.set(chat, [...this.messages(chat), message])
    this.#show(chat, message)
    return ok({ message_id: message.id, chat: { id: chat, type: 'private' }, date: 0 })
  }

  #edit(chat: number, payload: Payload): Response {
    const message = this.#find(chat, payload)
    if (message === undefined) return problem(400, 'Bad Request: message to edit not found')
    const shown = shownOf(payload)
    const isSame = Bun.deepEquals({ id: message.id, ...shown }, message)
    Object.assign(message, shown)
    this.#show(chat, message)
    return isSame ? problem(400, 'Bad Request: message is not modified: specified new message content is the same') : ok(true)
  }

  #find(chat: number, payload: Payload): Shown | undefined {
    return this.messages(chat).find(({ id }) => id === payload['message_id'])
  }

  async #poll({ offset = 0, limit = 100 }: Payload & { offset?: number; limit?: number }): Promise<Response> {
    if (this.updates !== undefined) return ok(this.updates())
    if (this.#polling !== undefined) {
      this.conflicts++
      return problem(409, 'Conflict: terminated by other getUpdates request')
    }
    this.#updates = this.#updates.filter(({ update_id }) => offset === 0 || update_id >= offset)
    if (this.#updates.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, POLL_MS)
      this.#polling = resolve
      await promise
      clearTimeout(timer)
      this.#polling = undefined
    }
    return ok(this.#updates.slice(0, limit))
  }
}

const ok = (result: unknown): Response => Response.json({ ok: true, result })
const problem = (error_code: number, description: string, parameters = {}): Response =>
  Response.json({ ok: false, error_code, description, parameters }, { status: error_code })

function shownOf(payload: Payload): Omit<Shown, 'id'> {
  const text = String(payload['text'])
  const [entity] = (payload['entities'] ?? []) as { offset: number; length: number }[]
  if (payload['parse_mode'] !== undefined) throw new Error('a text of people is never read as markup')
  return { text, code: entity === undefined ? '' : text.slice(entity.offset, entity.offset + entity.length), buttons: buttonsOf(payload) }
}

const buttonsOf = (payload: Payload): Shown['buttons'] =>
  (
    (payload['reply_markup'] as { inline_keyboard?: { text: string; callback_data?: string; url?: string }[][] } | undefined)
      ?.inline_keyboard ?? []
  )
    .flat()
    .map(({ text, callback_data: data, url }) => ({ text, ...(data === undefined ? {} : { data }), ...(url === undefined ? {} : { url }) }))
