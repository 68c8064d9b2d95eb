/** The lines of the audit log as sentences: what was done to whom, with the values before and after in the units that people know. Rules: operator.md "Audit". */

import { type Rates, rateWords } from '../../parts/rate-words.ts'
import { counted, showCount, showDate, showMoment } from '../../parts/show-time.ts'
import { showUsd } from '../../parts/show-usd.ts'

type Facts = Readonly<Record<string, unknown>>
type Line = Readonly<{ action: string; before: Facts; after: Facts }>

/** The sentence is `verb`, the name of what it was done to, and `tail`. */
export type Sentence = Readonly<{ verb: string; tail: string }>

/** The acts in words, for the filter. */
export const ACTIONS: Readonly<Record<string, string>> = {
  createAccount: 'account made',
  credit: 'balance credited',
  setAccountActive: 'account enabled or disabled',
  setAccountTags: 'ids of end users made tags, or not',
  renameAccount: 'account renamed',
  createKey: 'key made',
  renameKey: 'key renamed',
  setKeyActive: 'key enabled or disabled',
  setKeyLimit: 'limit set',
  setKeyRates: 'rates set',
  setKeyExpiry: 'expiry set',
  rotateKey: 'new secret',
  createCodes: 'codes made',
  disableCodes: 'codes disabled',
  setUpstreamOut: 'upstream taken out or put back',
  setAccess: 'access changed',
  giveLink: 'link given',
  setChat: 'chat changed',
  setBudget: 'budget set',
  setAccountPlan: 'plan of new keys set',
  createToken: 'token made',
  revokeToken: 'token revoked',
  reload: 'configuration reloaded',
  refuseReload: 'reload refused',
  failover: 'Postgres failed over',
  importKeys: 'keys imported',
}

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
const usd = (value: unknown): string => (typeof value === 'string' ? showUsd(value) : 'none')
const day = (value: unknown): string => (typeof value === 'number' ? showDate(new Date(value).toISOString()) : 'never')
const rates = (value: unknown): string => (typeof value === 'object' && value !== null ? rateWords(value as Rates) : 'none')
const quoted = (value: unknown): string => `“${text(value)}”`
const plain = (verb: string): Sentence => ({ verb, tail: '' })

const SENTENCES: Readonly<Record<string, (line: Line) => Sentence>> = {
  createAccount: () => plain('made the account'),
  credit: ({ before, after }) => ({
    verb: creditVerb(after),
    tail: `: balance ${usd(before['balanceUsd'])} → ${usd(after['balanceUsd'])}${text(after['ref']) === '' ? '' : `, reference ${text(after['ref'])}`}`,
  }),
  setAccountActive: ({ after }) => plain(after['isActive'] === true ? 'enabled the account' : 'disabled the account'),
  setAccountTags: ({ after }) =>
    plain(
      after['tagsUserIds'] === true ? 'made the ids of end users tags of the account' : 'made the ids of end users no tags of the account',
    ),
  setBudget: ({ before, after }) => ({
    verb: `set the budget a ${text(after['per'])} of`,
    tail: `: ${usd(before['usd'])} → ${usd(after['usd'])}${after['setBy'] === 'customer' ? ', as its customer' : ''}`,
  }),
  setAccountPlan: ({ before, after }) => ({
    verb: 'set the plan of new keys of',
    tail: `: ${quoted(before['plan'] ?? 'default')} → ${quoted(after['plan'] ?? 'default')}`,
  }),
  renameAccount: ({ before, after }) => ({ verb: 'renamed the account', tail: `: ${quoted(before['name'])} → ${quoted(after['name'])}` }),
  createKey: ({ after }) => ({ verb: 'made the key', tail: newKey(after) }),
  renameKey: ({ before, after }) => ({ verb: 'renamed the key', tail: `: ${quoted(before['name'])} → ${quoted(after['name'])}` }),
  setKeyActive: ({ after }) => plain(after['isActive'] === true ? 'enabled the key' : 'disabled the key'),
  setKeyRates: ({ before, after }) => ({ verb: 'set the rates of', tail: `: ${rates(before['rates'])} → ${rates(after['rates'])}` }),
  setKeyLimit: ({ before, after }) => ({ verb: 'set the limit of', tail: `: ${usd(before['limitUsd'])} → ${usd(after['limitUsd'])}` }),
  setKeyExpiry: ({ before, after }) => ({ verb: 'set the expiry of', tail: `: ${day(before['expiresAt'])} → ${day(after['expiresAt'])}` }),
  rotateKey: ({ before, after }) => ({ verb: 'gave a new secret to', tail: newSecret(before, after) }),
  createCodes: ({ after }) => ({
    verb: `made ${showCount(Number(after['count']))} codes of ${usd(after['usd'])} in`,
    tail: `, valid until ${day(after['expiresAt'])}`,
  }),
  disableCodes: () => plain('disabled the codes of'),
  setUpstreamOut: ({ after }) => plain(after['isOut'] === true ? 'took out the upstream' : 'put back the upstream'),
  setAccess: ({ after }) =>
    after['access'] === 'none'
      ? { verb: `took the access of ${text(after['email'])} to`, tail: '' }
      : { verb: `made ${text(after['email'])} ${text(after['access'])} of`, tail: '' },
  giveLink: ({ after }) => ({
    verb: `gave a link to ${after['link'] === 'password' ? 'set a password' : 'sign in'} to`,
    tail: ` (${text(after['listener'])})`,
  }),
  setChat: ({ after }) => chatChange(after),
  createToken: ({ after }) => ({
    verb: 'made the token',
    tail: `: scope ${text(after['scope'])}, ${typeof after['expiresAt'] === 'number' ? `until ${day(after['expiresAt'])}` : 'never expires'}`,
  }),
  reload: ({ after }) => ({
    verb: 'reloaded the',
    tail: `${text(after['node']) === '' ? '' : ` of ${text(after['node'])}`}: ${counted(Number(after['changes'] ?? 0), 'setting')} changed`,
  }),
  refuseReload: () => ({ verb: 'was refused the reload of the', tail: ': the file had become another one, so nothing changed' }),
  importKeys: ({ after }) => ({
    verb: `imported ${counted(Number(after['accounts'] ?? 0), 'account')} with ${counted(Number(after['keys'] ?? 0), 'key')} and ${usd(after['usd'])} from`,
    tail: '',
  }),
  failover: ({ before, after }) => ({
    verb: 'wrote again what a failover had lost in',
    tail: `: ${counted(Number(after['requests'] ?? 0), 'request')} of ${usd(after['usd'])} and ${counted(Number(after['acts'] ?? 0), 'act')}, server ${text(before['server'])} → ${text(after['server'])}`,
  }),
  revokeToken: () => plain('revoked the token'),
}

/** Undefined: an act without words of its own, whose values are shown one by one. */
export const sentenceOf = (line: Line): Sentence | undefined => SENTENCES[line.action]?.(line)

/** As `ChatState` of the operation names what became of the chat. */
const CHAT_VERBS: Readonly<Record<string, string>> = {
  linked: 'linked',
  removed: 'removed',
  'told alerts': 'switched on the alerts of',
  'not told alerts': 'switched off the alerts of',
}

const chatChange = ({ state, chat, email }: Facts): Sentence => ({
  verb: `${CHAT_VERBS[text(state)] ?? 'changed'} the chat ${text(chat)} of ${text(email)} in`,
  tail: '',
})

function creditVerb({ kind, usd: amount }: Facts): string {
  const size = usd(typeof amount === 'string' ? amount.replace('-', '') : amount)
  switch (kind) {
    case 'refund':
      return `refunded ${size} of`
    case 'correction':
      return `corrected by ${typeof amount === 'string' && amount.startsWith('-') ? '−' : '+'}${size} the balance of`
    default:
      return `credited ${size} to`
  }
}

const newKey = ({ plan, limitUsd, expiresAt }: Facts): string =>
  ` (${[
    text(plan) === '' ? '' : `plan ${text(plan)}`,
    limitUsd === null || limitUsd === undefined ? 'no limit' : `limit ${usd(limitUsd)}`,
    expiresAt === null || expiresAt === undefined ? 'never expires' : `expires ${day(expiresAt)}`,
  ]
    .filter((part) => part !== '')
    .join(', ')})`

function newSecret({ display }: Facts, { display: now, oldValidUntil }: Facts): string {
  const until = typeof oldValidUntil === 'number' ? `, the old one is valid until ${showMoment(new Date(oldValidUntil).toISOString())}` : ''
  return `: ${text(display)} → ${text(now)}${until}`
}
