/**
 * Telegram's Bot API as values: an answer, or why there is none. grammY makes the calls. Nothing of its errors leaves this file but a number: they hold the address,
 * which has the token in it, and what was sent, which may be a secret. Rules: pages.md "Telegram". Source: https://core.telegram.org/bots/api#making-requests.
 */

import { Api, GrammyError } from 'grammy/web'
import { boundedBytes } from '../core/bounded-bytes.ts'

/**
 * flood: too much was sent, come back after `retryAfterS` · token: Telegram does not know it · conflict: another program asks for updates · refused: this one call can never
 * be done, since the chat has left or the message is gone · away: no answer that can be read.
 */
export type Failed =
  | Readonly<{ failed: 'flood'; status: number; retryAfterS: number }>
  | Readonly<{ failed: 'token' | 'conflict' | 'refused'; status: number }>
  | Readonly<{ failed: 'away'; status: number | null }>
export type Answered<Value> = Readonly<{ value: Value }> | Failed

/** `url`: the button leads there; `data` comes back when it is pressed, at most 64 bytes. */
export type Button = Readonly<{ text: string; data: string }> | Readonly<{ text: string; url: string }>

/** A message: its text is shown as it is, never read as markup. `code`: the part of it that is shown in fixed width, and copied by a touch. */
export type Outgoing = Readonly<{ text: string; code?: string; buttons?: readonly (readonly Button[])[] }>

export type BotApiOptions = Readonly<{
  token: string
  /** The address of a server that stands in for Telegram. */
  apiRoot?: string | undefined
}>

/** How long Telegram waits for an update before it answers that there is none. */
const POLL_S = 25
const TIMEOUT_S = 40
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
const UPDATES_MAX = 100
const TEXT_MAX = 4_096
/** The longest wait that is believed. */
const RETRY_AFTER_S_MAX = 3_600

export class BotApi {
  readonly #api: Api

  constructor({ token, apiRoot }: BotApiOptions) {
    this.#api = new Api(token, { fetch: boundedFetch, timeoutSeconds: TIMEOUT_S, ...(apiRoot === undefined ? {} : { apiRoot }) })
  }

  /** The bot's name, without its `@`. */
  async name(signal?: AbortSignal): Promise<Answered<string>> {
    const me = await answered(() => this.#api.getMe(signalOf(signal)))
    if ('failed' in me) return me
    const { username } = (me.value ?? {}) as Partial<typeof me.value>
    return typeof username === 'string' && /^\w{1,64}$/.test(username) ? { value: username } : { failed: 'away', status: null }
  }

  /** Updates from `next` on, as Telegram sent them; none within 25 seconds is an empty list. Those before `next` are forgotten by Telegram. */
  async updates(next: number, signal: AbortSignal): Promise<Answered<readonly unknown[]>> {
    const asked = {
      timeout: POLL_S,
      limit: UPDATES_MAX,
      allowed_updates: ['message', 'callback_query'],
      ...(next > 0 ? { offset: next } : {}),
    } as const
    const found = await answered(() => this.#api.getUpdates(asked, signalOf(signal)))
    return 'failed' in found || Array.isArray(found.value) ? found : { failed: 'away', status: null }
  }

  send(chat: number, message: Outgoing): Promise<Answered<unknown>> {
    const { text, ...other } = partsOf(message)
    return answered(() => this.#api.sendMessage(chat, text, other))
  }

  /** Puts the message in the place of an earlier one, which may be the same already. */
  edit(chat: number, messageId: number, message: Outgoing): Promise<Answered<unknown>> {
    const { text, ...other } = partsOf(message)
    return answered(() => this.#api.editMessageText(chat, messageId, text, other).catch(unlessSame))
  }

  /** Puts other buttons under an earlier message. */
  setButtons(chat: number, messageId: number, buttons: NonNullable<Outgoing['buttons']>): Promise<Answered<unknown>> {
    return answered(() => this.#api.editMessageReplyMarkup(chat, messageId, { reply_markup: keyboardOf(buttons) }))
  }

  delete(chat: number, messageId: number): Promise<Answered<unknown>> {
    return answered(() => this.#api.deleteMessage(chat, messageId))
  }

  /** Ends the wait that a pressed button shows. `text`: shown for a moment. */
  heard(press: string, text: string): Promise<Answered<unknown>> {
    return answered(() => this.#api.answerCallbackQuery(press, text === '' ? {} : { text: text.slice(0, 200) }))
  }

  /** Says which commands there are, for the menu of private chats. */
  setCommands(commands: readonly Readonly<{ command: string; description: string }>[]): Promise<Answered<unknown>> {
    return answered(() => this.#api.setMyCommands([...commands], { scope: { type: 'all_private_chats' } }))
  }
}

type Signal = Parameters<Api['getMe']>[0]
/** The build for the web takes the platform's own signal; its types are those of the build for Node. */
const signalOf = (signal: AbortSignal | undefined): Signal => signal as unknown as Signal

async function answered<Value>(call: () => Promise<Value>): Promise<Answered<Value>> {
  try {
    return { value: await call() }
  } catch (error) {
    return error instanceof GrammyError ? failureOf(error) : { failed: 'away', status: null }
  }
}

function unlessSame(error: unknown): true {
  if (error instanceof GrammyError && error.error_code === 400 && error.description.includes('message is not modified')) return true
  throw error
}

/** What an error means. A token that was never one is answered 404, one that was taken back 401. */
function failureOf({ error_code: given, parameters }: GrammyError): Failed {
  const status = Number.isInteger(given) ? given : 0
  switch (status) {
    case 401:
    case 404:
      return { failed: 'token', status }
    case 409:
      return { failed: 'conflict', status }
    case 429: {
      const wait = Number(parameters.retry_after)
      return { failed: 'flood', status, retryAfterS: Number.isFinite(wait) ? Math.min(Math.max(1, wait), RETRY_AFTER_S_MAX) : 1 }
    }
    default:
      return status >= 400 && status < 500 ? { failed: 'refused', status } : { failed: 'away', status }
  }
}

function partsOf({ text: whole, code, buttons = [] }: Outgoing) {
  const text = whole.length > TEXT_MAX ? `${whole.slice(0, TEXT_MAX - 1)}…` : whole
  const offset = code === undefined ? -1 : text.indexOf(code)
  const type = code?.includes('\n') ? ('pre' as const) : ('code' as const)
  const entities = offset < 0 || code === undefined ? [] : [{ type, offset, length: code.length }]
  return { text, entities, reply_markup: keyboardOf(buttons), link_preview_options: { is_disabled: true } }
}

const keyboardOf = (buttons: NonNullable<Outgoing['buttons']>) => ({
  inline_keyboard: buttons.map((row) =>
    row.map((button) => ('url' in button ? { text: button.text, url: button.url } : { text: button.text, callback_data: button.data })),
  ),
})

/** Without redirects, which could lead the token elsewhere, and with an answer that is bounded. */
const boundedFetch = async (address: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const answer = await fetch(address, { ...init, redirect: 'error' })
  const bytes = answer.body === null ? new Uint8Array() : await boundedBytes(answer.body, ANSWER_BYTES_MAX)
  if (bytes === undefined) throw new Error('the answer is too long')
  return new Response(bytes, { status: answer.status })
}
