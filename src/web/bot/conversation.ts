/**
 * What the bot answers: a command, a pressed button, or the answer to what it asked. The person is looked up first, each time, and what a button holds is believed no
 * more than what a form sends. Rules: pages.md "Telegram", "People".
 */

import type { Held } from '../../telegram/update-store.ts'
import { runningOf } from '../api/running.ts'
import { alertWords } from './alerts.ts'
import { HELP } from './commands.ts'
import { askName, DELETE_SOON, keyWords } from './keys.ts'
import { moneyWords, SPANS, type Span } from './money.ts'
import { type Question, questionOf, type Said, say } from './said.ts'
import { link, MOVE, start, strangerWords, unlink } from './start.ts'
import { topUpWords } from './top-up.ts'
import { addressOf, type BotSite, keyIdOf, randomOf, type Turn } from './turn.ts'

const DELETE_MS = 2 * 60_000
const COMMAND = /^\/([a-z]{1,20})(?:@\w{1,64})?(?:\s+([\s\S]*))?$/
const BUTTON = /^([a-z]{1,10}\d{0,2})(?::(.{1,60}))?$/

export type Conversation = (held: Held) => Promise<Said>

type Answer = Promise<Said> | Said
type Parts = Readonly<{
  site: BotSite
  keys: ReturnType<typeof keyWords>
  money: ReturnType<typeof moneyWords>
  topUp: ReturnType<typeof topUpWords>
  alerts: ReturnType<typeof alertWords>
}>

/** `token`: of the bot. `deleteAt`: deletes a message later. */
export function conversation(
  site: BotSite,
  { token, deleteAt }: Readonly<{ token: string; deleteAt: (chat: number, message: number, at: number) => Promise<void> }>,
): Conversation {
  const running = runningOf(site)
  const parts: Parts = {
    site,
    keys: keyWords(site, running),
    money: moneyWords(site, running),
    topUp: topUpWords(site),
    alerts: alertWords(site),
  }
  return async (held) => {
    await site.look()
    const { incoming } = held
    if (incoming.kind === 'button' && incoming.data === DELETE_SOON) {
      // A message with a secret is deleted also for a person who has lost the account meanwhile.
      await deleteAt(incoming.chat, incoming.message, site.world.clock.now() + DELETE_MS)
      return { says: [], hint: 'It goes in two minutes', buttons: [] }
    }
    const [, name = '', given = ''] = incoming.kind === 'text' ? (COMMAND.exec(incoming.text) ?? []) : (BUTTON.exec(incoming.data) ?? [])
    if (incoming.kind === 'text' && name === 'start') return start(site, held, given.trim())
    if (incoming.kind === 'button' && name === MOVE) return link(site, held, given, true)
    const turn = await turnOf(site, held, token)
    if (turn === undefined) return say(strangerWords(site))
    if (incoming.kind === 'button') return button(parts, turn, name, given)
    if (incoming.text.startsWith('/')) return command(parts, turn, held, { name, given: given.trim() })
    const question = questionOf(turn.chat.question)
    const said = await answerTo(parts, turn, question, incoming.text)
    // What was refused may be typed again.
    return said.isRefused && question !== undefined ? { ...said, question } : said
  }
}

function command(
  { site, keys, money, topUp, alerts }: Parts,
  turn: Turn,
  held: Held,
  { name, given }: Readonly<Record<'name' | 'given', string>>,
): Answer {
  switch (name) {
    case 'balance':
      return money.balance(turn)
    case 'spend':
      return money.spend(turn, spanOf(given))
    case 'keys':
      return keys.list(turn)
    case 'topup':
      return owned(site, turn, () => (given === '' ? topUp.ways() : topUp.typed(turn, given)))
    case 'alerts':
      return alerts(turn, given)
    case 'unlink':
      return unlink(site, held, { accountId: turn.accountId, person: turn.caller.person, isSure: given === 'sure' })
    default:
      return say(HELP)
  }
}

function answerTo({ site, keys, topUp }: Parts, turn: Turn, question: Question | undefined, text: string): Answer {
  switch (question?.asks) {
    case 'key name':
      return owned(site, turn, () => keys.create(turn, text.trim()))
    case 'key limit':
      return owned(site, turn, () => keys.limit(turn, question.keyId, text))
    case 'top-up':
      return owned(site, turn, () => topUp.typed(turn, text))
    case undefined:
      return say(HELP)
  }
}

/** `of`: what stands behind the name of the button, such as the id of a key. */
function button({ site, keys, money, topUp }: Parts, turn: Turn, name: string, of: string): Answer {
  switch (name) {
    case 'keys':
      return keys.list(turn)
    case 'more':
      return keys.list(turn, of)
    case 'key':
      return keys.show(turn, of)
    case 'new':
      return owned(site, turn, askName)
    case 'limit':
      return owned(site, turn, () => keys.askLimit(turn, of))
    case 'unlimit':
      return owned(site, turn, () => keys.limit(turn, of, null))
    case 'rotate':
      return owned(site, turn, () => keys.askRotation(turn, of))
    case 'rotate0':
    case 'rotate24':
      return owned(site, turn, () => keys.rotate(turn, of, name === 'rotate0' ? 0 : 24))
    case 'on':
    case 'off':
      return owned(site, turn, () => keys.switchTo(turn, of, name === 'on'))
    case 'spend':
      return money.spend(turn, spanOf(of))
    case 'pay':
      return owned(site, turn, () => topUp.pay(turn, of))
    default:
      return say(HELP)
  }
}

const spanOf = (text: string): Span => SPANS.find((span) => String(span) === text) ?? 7

/** Undefined: the chat is not linked, or its person is no member of the account any more. */
async function turnOf({ people }: BotSite, held: Held, token: string): Promise<Turn | undefined> {
  const { chats, memberships } = people()
  const chat = await chats.byId(held.incoming.chat)
  if (chat === undefined) return undefined
  const [person, membership] = [await memberships.byId(chat.personId), await memberships.membership(chat.personId, chat.accountId)]
  if (person === undefined || membership === undefined) return undefined
  return {
    chat,
    caller: { person, sessionId: '', address: addressOf(chat.chat), actor: `person:${person.email}` },
    accountId: chat.accountId,
    role: membership.role,
    newKeyId: keyIdOf(held),
    random: randomOf(held, token),
    takenAt: held.takenAt,
  }
}

/** What an owner alone may do, at the pace of changes on the pages. */
function owned({ people }: BotSite, { role, caller }: Turn, work: () => Promise<Said> | Said): Promise<Said> | Said {
  if (role !== 'owner') return say('Only an owner of this account may do this.')
  const waitS = people().writePace.take(caller.person.id, people().monotonicMs())
  return waitS === 0 ? work() : say(`Too many changes at once. Try again in ${waitS} s.`)
}
