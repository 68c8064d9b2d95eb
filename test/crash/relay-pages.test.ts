/**
 * What runs once, over relays: a person comes in by whichever relay the kernel picks, guesses of a password count over all of them, and Stripe is answered by any.
 * Rules: processes.md "Once".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { parseUsd, ZERO } from '../../src/core/money.ts'
import { bodyOf, SECRETS, sessionEvent, signatureOf, startFakeStripe } from '../support/fake-stripe.ts'
import { startTestGateway } from '../support/gateway.ts'
import { makeFolder } from '../support/ledger.ts'
import { Browser, PASSWORD } from '../support/people.ts'
import { openLedgerProcess } from '../support/relays.ts'
import { until } from '../support/until.ts'
import { Place } from './process.ts'

setDefaultTimeout(120_000)

let place: Place
beforeEach(() => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n')
})
afterEach(() => place.remove())

/** A browser whose requests come on connections of their own, so that the kernel spreads them over the relays. */
const browserAt = (url: string): Browser => {
  const handle = (request: Request): Promise<Response> => {
    request.headers.set('connection', 'close')
    return fetch(request, { keepalive: false })
  }
  return new Browser({ handle }, url, 'cabinet', '192.0.2.1')
}

test('a person comes in and stays in over all relays, and wrong passwords count over all of them', async () => {
  const gateway = await place.serve({ args: ['--processes', '3'] })
  const { id } = await place.json<{ id: string }>('accounts', 'create', 'Ada')
  const { link } = await place.json<{ link: string }>('people', 'invite', 'ada@example.com', '--account', id)
  const token = new URL(link).pathname.split('/').at(-1)
  const ada = browserAt(gateway.url)
  expect((await ada.post('/auth/invite', { token, password: PASSWORD })).status).toBe(200)
  // The link works once, wherever it is used again.
  for (let n = 0; n < 6; n++) expect((await browserAt(gateway.url).post('/auth/invite', { token, password: PASSWORD })).status).toBe(410)
  for (let n = 0; n < 12; n++) expect((await ada.get('/api/me')).status).toBe(200)
  const again = browserAt(gateway.url)
  expect((await again.signIn('ada@example.com')).status).toBe(200)
  for (let n = 0; n < 6; n++) expect((await again.get('/api/me')).status).toBe(200)
  const guesses = await Promise.all(Array.from({ length: 20 }, () => browserAt(gateway.url).signIn('ada@example.com', 'a wrong password')))
  const statuses = guesses.map(({ status }) => status)
  expect([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length]).toEqual([5, 15])
})

test('the operator’s API is one over all relays: one key for one Idempotency-Key, a reload in each process, a revoked token is refused by all', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const urls = () => [...new Set([...gateway.err().matchAll(/"operator_url":"([^"]+)"/g)].map(([, url = '']) => url))]
  await until(() => urls().length === 3)
  const { id, token } = await place.json<{ id: string; token: string }>('tokens', 'create', 'shop', '--scope', 'all')
  const ask = (url: string, path: string, init: RequestInit = {}) =>
    fetch(`${url}/api/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers },
    })
  const create = (url: string) =>
    ask(url, '/keys', {
      method: 'POST',
      headers: { 'idempotency-key': 'order-1' },
      body: JSON.stringify({ name: 'one', balance_usd: '5' }),
    })
  const made = await Promise.all(
    [...urls(), ...urls()].map(async (url) => (await (await create(url)).json()) as { id: string; secret: string | null }),
  )
  expect(new Set(made.map((key) => key.id)).size).toBe(1)
  const [secret] = made.flatMap((key) => (key.secret === null ? [] : [key.secret]))
  const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] })
  expect((await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers: { 'x-api-key': secret ?? '' }, body })).status).toBe(200)
  const reloads = () => gateway.err().split('configuration reloaded').length - 1
  const before = reloads()
  expect((await ask(urls().at(-1) ?? '', '/reload', { method: 'POST', body: '{}' })).status).toBe(200)
  await until(() => reloads() - before === 3)
  await place.json('tokens', 'revoke', id)
  for (const url of urls()) expect((await ask(url, '/accounts')).status).toBe(401)
  // Refused for the token, and not for the body, which no process reads.
  for (const url of urls()) expect((await ask(url, '/keys', { method: 'POST', body: 'x'.repeat(3_000_000) })).status).toBe(401)
})

test('an event of Stripe is booked by the relay that hears it, once, whichever relays hear it again, and is there to spend at once on all', async () => {
  const stripe = startFakeStripe()
  const path = join(makeFolder(), 'ledger.db')
  const main = await openLedgerProcess(path)
  const payments = { text: undefined, stripe: { ...SECRETS, minPicos: parseUsd('5') ?? ZERO, maxPicos: parseUsd('500') ?? ZERO } }
  const relay = () => startTestGateway({ ledgerPath: path, part: 'relay', payments, stripeAddress: stripe.address })
  const relays = [await relay(), await relay()]
  try {
    const [first, second] = relays
    const secret = (await first?.createKey({ id: 'key_pay', balanceUsd: '1' })) ?? ''
    const payment = { id: 'pi_1', accountId: 'acc_pay', cents: 1_000 }
    stripe.payments.set(payment.id, payment)
    const told = await Promise.all(
      [first, second, first, second].map(async (one) => {
        const body = bodyOf(sessionEvent(payment))
        const headers = { 'stripe-signature': signatureOf(body) }
        return (await (await fetch(`${one?.url}/webhooks/stripe`, { method: 'POST', body, headers })).json()) as { result: string }
      }),
    )
    expect(told.map(({ result }) => result).sort()).toEqual(['already', 'already', 'already', 'booked'])
    for (const one of relays) {
      const answer = await fetch(`${one.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${secret}` } })
      expect(((await answer.json()) as { balance_usd: number }).balance_usd).toBe(11)
    }
    expect(first?.verify()).toEqual([])
  } finally {
    for (const one of relays) await one.stop()
    await main.ledger.close()
    stripe.stop()
  }
})
