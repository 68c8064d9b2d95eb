/** How a chat is linked: by a one-time code of the cabinet, or, where the operator has opened it, by a new account; and how it is unlinked. Rules: pages.md "Telegram", "Signing up". */

import { readLinkCode } from '../../core/link-code.ts'
import type { ChatState } from '../../ledger/operation.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import type { Chat } from '../../people/chats.ts'
import { hasMailbox } from '../../people/memberships.ts'
import type { Person } from '../../people/sessions.ts'
import type { Held } from '../../telegram/update-store.ts'
import type { Caller } from '../api/caller.ts'
import { HELP } from './commands.ts'
import { type Said, say } from './said.ts'
import { addressOf, type BotSite } from './turn.ts'

/** The button that moves a chat to the account of another link. */
export const MOVE = 'move'

const UNBOOKED = 'Nothing can be booked at this moment. Try again in a minute.'
const WRONG_CODE = 'This code is not valid: it was used, has expired, or was never made. Get a new one in the cabinet.'

type Noted = Readonly<{ email: string; accountId: string; chat: number; state: ChatState; at: number }>

/** Writes what becomes of a chat to the audit log. `by`: default the chat's own person, in the chat. False: the ledger cannot write now. The same at the same time is one line. */
export async function isChatNoted(
  { world }: Pick<BotSite, 'world'>,
  { email, accountId, chat, state, at }: Noted,
  by: Pick<Caller, 'actor' | 'address'> = { actor: `person:${email}`, address: addressOf(chat) },
  reason = '',
): Promise<boolean> {
  const act = { actor: by.actor, address: by.address, reason }
  const { result } = await world.ledger.operate({ kind: 'setChat', email, accountId, chat: String(chat), state, now: at }, act)
  return result === 'done'
}

/** The answer to `/start`, with or without a code. */
export async function start(site: BotSite, held: Held, typed: string): Promise<Said> {
  if (typed !== '') return link(site, held, typed, false)
  const people = site.people()
  const known = await people.chats.byId(held.incoming.chat)
  if (known === undefined) return people.settings.signUp === 'open' ? signUp(site, held) : say(strangerWords(site))
  const person = await people.memberships.byId(known.personId)
  if (person === undefined) return say(strangerWords(site))
  return finished(site, person, known.accountId, held)
}

export const strangerWords = ({ people }: Pick<BotSite, 'people'>): string => {
  const address = `${people().origins('cabinet').base}/cabinet`
  const or = people().settings.signUp === 'open' ? ' Or send /start for a new account.' : ''
  return `This chat is not linked to an account. Sign in at ${address}, choose “Link a chat” under Members, and follow the link, or send the code here: /start CODE.${or}`
}

/**
 * Notes the link before it is there, so that no chat acts without a line in the audit log. `isSure`: the chat, which acts for another person, was asked and is to change: the
 * link may have been sent by a stranger, to whose account it leads.
 */
export async function link(site: BotSite, { incoming: { chat, name }, takenAt }: Held, typed: string, isSure: boolean): Promise<Said> {
  const people = site.people()
  const code = readLinkCode(typed)
  if (code === undefined) return say(WRONG_CODE)
  const guess = people.codeGuesses.begin(addressOf(chat), addressOf(chat), people.monotonicMs())
  if ('refusedMs' in guess) return say(`Too many attempts. Try again in ${Math.ceil(guess.refusedMs / 1_000)} s.`)
  const found = await people.chats.byCode(code, chat)
  const person = found === undefined ? undefined : await people.memberships.byId(found.personId)
  if (found === undefined || person === undefined) return say(WRONG_CODE)
  guess.isNone()
  const before = await people.chats.byId(chat)
  const isOther = before !== undefined && (before.accountId !== found.accountId || before.personId !== found.personId)
  if (before !== undefined && before.personId !== found.personId && !isSure) return askToMove(site, before, { ...found, code })
  if (!(await isChatNoted(site, { email: person.email, accountId: found.accountId, chat, state: 'linked', at: takenAt })))
    return say(UNBOOKED)
  const linked = await people.chats.link(code, { chat, name })
  if (linked === undefined) return say(WRONG_CODE)
  if (linked === 'tooMany') return say('You have as many chats with this account as there may be. Remove one in the cabinet first.')
  if (isOther) {
    const earlier = await people.memberships.byId(before.personId)
    if (earlier !== undefined)
      await isChatNoted(site, { email: earlier.email, accountId: before.accountId, chat, state: 'removed', at: takenAt })
  }
  return welcome(site, found.accountId, person)
}

type Move = Readonly<{ personId: string; accountId: string; code: string }>

async function askToMove(site: BotSite, before: Chat, { personId, accountId, code }: Move): Promise<Said> {
  const [from, to] = [await accountName(site, before.accountId, before.personId), await accountName(site, accountId, personId)]
  return say(
    `This chat is linked to the account “${from}”. The link that you opened is another person’s, and leads to the account “${to}”: from then on this chat acts for “${to}”, and a prepaid code that you send here is credited to it. If you did not ask for this link, do nothing.`,
    { buttons: [[{ text: `Move this chat to ${shortened(to)}`, data: `${MOVE}:${code}` }]] },
  )
}

/** As much of a name as a button shows. */
const shortened = (name: string): string => (name.length > 40 ? `${name.slice(0, 39)}…` : name)

/** Makes person, membership and chat in one commit, without a password, under an address of a domain that cannot exist. */
async function signUp(site: BotSite, held: Held): Promise<Said> {
  const people = site.people()
  const { chat, name } = held.incoming
  if (people.signUpTurns.waitS(people.monotonicMs()) > 0) return say('Too many sign up at this moment. Try again in a minute.')
  const accountId = newId('acc', held.takenAt)
  // The random part keeps others from taking the address before.
  const email = `${chat}.${Buffer.from(held.salt).toString('hex').slice(0, 12)}@telegram.invalid`
  const person = await people.db.transaction([`email ${email}`], async (sql) => {
    const memberships = people.memberships.in(sql)
    const made = await memberships.add({ email, name, isProven: false })
    await memberships.join(made.id, { accountId, role: 'owner' }, name)
    await people.chats.in(sql).add({ chat, name, personId: made.id, accountId })
    return made
  })
  return finished(site, person, accountId, held)
}

type Unlinked = Readonly<{ accountId: string; person: Person; isSure: boolean }>

/** Also finishes a sign-up that a crash interrupted. */
async function finished(site: BotSite, person: Person, accountId: string, { incoming: { chat }, takenAt }: Held): Promise<Said> {
  const people = site.people()
  const isNew = (await people.memberships.wanted(person.id)).some((wanted) => wanted.accountId === accountId)
  if (!(await people.finishSignUp(person, addressOf(chat)))) return say('Your account is being made. Send /start again in a minute.')
  if (isNew) await isChatNoted(site, { email: person.email, accountId, chat, state: 'linked', at: takenAt })
  return welcome(site, accountId, person)
}

async function welcome(site: BotSite, accountId: string, { id }: Person): Promise<Said> {
  return say(`This chat is linked to the account “${await accountName(site, accountId, id)}”.\n\n${HELP}`)
}

async function accountName({ world }: BotSite, accountId: string, personId: string): Promise<string> {
  const account = await world.reports.ask(`person:${personId}`, { kind: 'account', accountId })
  return typeof account === 'object' && account.name !== '' ? account.name : accountId
}

/**
 * Removes the chat before the audit log has its line, so that it ends even while the ledger cannot write. `isSure`: a person who signed up here, and whom nothing else lets in, has
 * been told so.
 */
export async function unlink(site: BotSite, { incoming: { chat }, takenAt }: Held, { accountId, person, isSure }: Unlinked): Promise<Said> {
  const others = (await site.people().chats.list({ personId: person.id })).filter((one) => one.chat !== chat)
  if (!isSure && !hasMailbox(person.email) && others.length === 0)
    return say('Nothing but this chat leads to the account and its balance. If you want to leave it all the same, send: /unlink sure')
  await site.people().chats.remove(accountId, chat)
  await isChatNoted(site, { email: person.email, accountId, chat, state: 'removed', at: takenAt })
  return say('This chat is no longer linked to an account.')
}
