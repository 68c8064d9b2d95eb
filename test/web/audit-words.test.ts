/** A line of the audit log reads as a sentence, with the values before and after in the units that people know; an act without words of its own shows its values. Rules: operator.md "Audit". */

import { expect, test } from 'bun:test'
import { actorWords } from '../../src/web/console/pages/actor.words.ts'
import { ACTIONS, sentenceOf } from '../../src/web/console/pages/audit.words.ts'

const at = Date.UTC(2026, 10, 27, 12)
const said = (action: string, before: object, after: object): string => {
  const sentence = sentenceOf({ action, before: { ...before }, after: { ...after } })
  return sentence === undefined ? 'no sentence' : `${sentence.verb} IT${sentence.tail}`
}

const RATES = { requests_per_minute: 60, input_tokens_per_minute: null, output_tokens_per_minute: null, concurrent_requests: 4 }

for (const [action, before, after, sentence] of [
  ['createAccount', {}, { name: 'A' }, 'made the account IT'],
  [
    'credit',
    { balanceUsd: '1.5' },
    { kind: 'top-up', usd: '2', ref: 'wire 7', balanceUsd: '3.5' },
    'credited $2.00 to IT: balance $1.50 → $3.50, reference wire 7',
  ],
  ['credit', { balanceUsd: '3' }, { kind: 'refund', usd: '-1', ref: '', balanceUsd: '2' }, 'refunded $1.00 of IT: balance $3.00 → $2.00'],
  [
    'credit',
    { balanceUsd: '3' },
    { kind: 'correction', usd: '-1', ref: '', balanceUsd: '2' },
    'corrected by −$1.00 the balance of IT: balance $3.00 → $2.00',
  ],
  ['setAccountActive', { isActive: true }, { isActive: false }, 'disabled the account IT'],
  ['setKeyActive', { isActive: false }, { isActive: true }, 'enabled the key IT'],
  ['renameKey', { name: 'a' }, { name: 'b' }, 'renamed the key IT: “a” → “b”'],
  ['createKey', {}, { plan: 'all', limitUsd: '5', expiresAt: at }, 'made the key IT (plan all, limit $5.00, expires 27 Nov 2026)'],
  ['createKey', {}, { plan: 'all', limitUsd: null, expiresAt: null }, 'made the key IT (plan all, no limit, never expires)'],
  ['setKeyRates', { rates: null }, { rates: RATES }, 'set the rates of IT: none → 60 requests a minute; 4 requests at once'],
  ['setKeyLimit', { limitUsd: '5' }, { limitUsd: null }, 'set the limit of IT: $5.00 → none'],
  ['setKeyExpiry', { expiresAt: null }, { expiresAt: at }, 'set the expiry of IT: never → 27 Nov 2026'],
  ['rotateKey', { display: 'sk-…aaaa' }, { display: 'sk-…bbbb', oldValidUntil: null }, 'gave a new secret to IT: sk-…aaaa → sk-…bbbb'],
  ['createCodes', {}, { name: 'fair', count: 1_500, usd: '5', expiresAt: at }, 'made 1,500 codes of $5.00 in IT, valid until 27 Nov 2026'],
  ['setUpstreamOut', { isOut: false }, { isOut: true }, 'took out the upstream IT'],
  ['setAccess', {}, { email: 'a@example.com', access: 'owner' }, 'made a@example.com owner of IT'],
  ['setAccess', {}, { email: 'a@example.com', access: 'none' }, 'took the access of a@example.com to IT'],
  ['setChat', {}, { state: 'linked', chat: '7', email: 'a@b.example' }, 'linked the chat 7 of a@b.example in IT'],
  [
    'setChat',
    {},
    { state: 'not told alerts', chat: '7', email: 'a@b.example' },
    'switched off the alerts of the chat 7 of a@b.example in IT',
  ],
  ['giveLink', {}, { link: 'sign-in', listener: 'console' }, 'gave a link to sign in to IT (console)'],
  ['revokeToken', { name: 'shop', isRevoked: false }, { isRevoked: true }, 'revoked the token IT'],
  ['reload', {}, { changes: 2 }, 'reloaded the IT: 2 settings changed'],
  ['refuseReload', {}, { changes: 2 }, 'was refused the reload of the IT: the file had become another one, so nothing changed'],
  ['importKeys', {}, { accounts: 1, keys: 2_000, usd: '7.5' }, 'imported 1 account with 2,000 keys and $7.50 from IT'],
  [
    'failover',
    { server: 'a' },
    { server: 'b', requests: 3, usd: '0.25', acts: 1 },
    'wrote again what a failover had lost in IT: 3 requests of $0.25 and 1 act, server a → b',
  ],
  ['createToken', {}, { name: 'shop', scope: 'all', expiresAt: null }, 'made the token IT: scope all, never expires'],
  ['setAccountTags', {}, { tagsUserIds: true }, 'made the ids of end users tags of the account IT'],
  ['setAccountPlan', { plan: null }, { plan: 'pro' }, 'set the plan of new keys of IT: “default” → “pro”'],
  ['renameAccount', { name: 'a' }, { name: 'b' }, 'renamed the account IT: “a” → “b”'],
  ['disableCodes', {}, { isDisabled: true }, 'disabled the codes of IT'],
  [
    'setBudget',
    { per: 'day', usd: null },
    { per: 'day', usd: '5', setBy: 'customer' },
    'set the budget a day of IT: none → $5.00, as its customer',
  ],
  ['somethingNew', {}, { a: 1 }, 'no sentence'],
] as const)
  test(`${action}: ${sentence}`, () => {
    expect(said(action, before, after)).toBe(sentence)
  })

test('every act that can be chosen in the filter has a sentence', () => {
  for (const action of Object.keys(ACTIONS))
    expect([action, sentenceOf({ action, before: {}, after: {} }) === undefined]).toEqual([action, false])
})

test('every kind of operation that leaves a line has words: a new one fails here', async () => {
  const source = await Bun.file(new URL('../../src/ledger/operation.ts', import.meta.url)).text()
  const [, union = ''] = /\nexport type Operation =([\s\S]*?)\n\n/.exec(source) ?? []
  const kinds = [...union.matchAll(/kind: '(\w+)'/g)].map(([, kind = '']) => kind)
  expect(kinds.length).toBeGreaterThan(20)
  // A code that is redeemed leaves a line of its credit, and the last use of a token none.
  const without = ['redeemCode', 'noteTokenUse']
  expect(kinds.filter((kind) => ACTIONS[kind] === undefined).toSorted()).toEqual(without.toSorted())
})

for (const [actor, address, who, from] of [
  ['person:ann@example.com', '192.0.2.17', 'ann@example.com', '192.0.2.17'],
  ['person:ann@example.com', 'telegram:77', 'ann@example.com', 'Telegram, chat 77'],
  ['token:shop', '192.0.2.17', 'shop', 'token of the API, 192.0.2.17'],
  ['os:root (login ann)', 'socket', 'root (login ann)', 'command line'],
  ['program', '', 'the gateway itself', ''],
  ['signal', '', 'a signal of the operating system', ''],
] as const)
  test(`${actor} at ${address} is ${who}`, () => {
    expect(actorWords(actor, address)).toEqual({ who, from })
  })
