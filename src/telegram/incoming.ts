/**
 * What people send to the bot, read out of Telegram's updates: the text of a private message, or a pressed button. All else is nothing: groups and channels, forwarded
 * messages and those of other bots, whose words are not their sender's. Rules: pages.md "Telegram". Source: https://core.telegram.org/bots/api#update.
 */

/** `chat`: the private chat, whose id is that of its user. `name`: as Telegram shows the user, made of what the user typed. */
type From = Readonly<{ chat: number; name: string }>

/** `message`, of a button: the message that has it. `press`: under which Telegram is told that the press was heard. */
export type Incoming = From &
  (Readonly<{ kind: 'text'; text: string }> | Readonly<{ kind: 'button'; data: string; message: number; press: string }>)

/** `incoming` undefined: there is nothing to answer. */
export type Update = Readonly<{ number: number; incoming: Incoming | undefined }>

const TEXT_MAX = 4_096
/** Telegram's own limit (https://core.telegram.org/bots/api#inlinekeyboardbutton). */
const DATA_MAX = 64
const NAME_MAX = 64

/** Undefined: this is no update, since it has no number. */
export function readUpdate(value: unknown): Update | undefined {
  const { update_id: number, message, callback_query: press } = objectOf(value)
  if (!isWhole(number) || number < 0) return undefined
  return { number, incoming: message === undefined ? readPress(objectOf(press)) : readMessage(objectOf(message)) }
}

function readMessage(message: Fields): Incoming | undefined {
  const { text, forward_origin: origin, forward_date: date, via_bot: bot } = message
  const from = readFrom(message['from'], message['chat'])
  if (from === undefined || typeof text !== 'string' || origin !== undefined || date !== undefined || bot !== undefined) return undefined
  return { ...from, kind: 'text', text: text.slice(0, TEXT_MAX) }
}

function readPress({ id, from: sender, message, data }: Fields): Incoming | undefined {
  const { chat, message_id: messageId } = objectOf(message)
  const from = readFrom(sender, chat)
  if (from === undefined || typeof id !== 'string' || typeof data !== 'string' || data.length > DATA_MAX || !isWhole(messageId))
    return undefined
  return { ...from, kind: 'button', data, message: messageId, press: id }
}

/** Undefined where the chat is not the sender's own, private one. */
function readFrom(sender: unknown, chat: unknown): From | undefined {
  const { id, is_bot: isBot, username, first_name: firstName } = objectOf(sender)
  const { id: chatId, type } = objectOf(chat)
  if (type !== 'private' || !isWhole(id) || id <= 0 || id !== chatId || isBot === true) return undefined
  return { chat: id, name: nameOf(username, firstName) }
}

/** `@ann`, or the first name on one line; what cannot be seen is taken out, since operators see names in terminals and tables. */
function nameOf(username: unknown, firstName: unknown): string {
  if (typeof username === 'string' && /^\w{1,32}$/.test(username)) return `@${username}`
  const seen = (typeof firstName === 'string' ? firstName : '').replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return [...seen].slice(0, NAME_MAX).join('').trim() || 'without a name'
}

type Fields = Readonly<Record<string, unknown>>

const objectOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)
