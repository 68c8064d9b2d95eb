/**
 * Every command beside a running gateway, as the compiled program runs it: it does what it says, says so, and a repetition finds it done. Rules: operator.md "Socket",
 * "Commands".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { commandsOf } from '../support/commands.ts'
import { type GatewayProcess, type Key, Place, PROCESS_TIMEOUT_MS } from './process.ts'

let place: Place
let gateway: GatewayProcess
beforeAll(async () => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n')
  gateway = await place.serve()
})
afterAll(() => place.remove())

/** An hour of a vendor's report in which neither side knows of a call. */
const HOUR = { starting_at: '2020-01-01T00:00:00Z', ending_at: '2020-01-01T01:00:00Z', results: [] }
const REPORT = JSON.stringify({ data: [HOUR], has_more: false, next_page: null })

const DEARER = '[[models]]\nid = "claude-sonnet-5-5"\ninput = "4"\noutput = "20"\ncontext_window = 200000\nmax_output_tokens = 64000\n'

/** What a command needs is made by those before it. `code`: default 0. */
type Case = Readonly<{ argv: readonly string[]; code?: number; out?: RegExp; err?: RegExp }>

test(
  'all commands of the help, one after another',
  async () => {
    const { id: keyId, key: secret } = await place.json<Key>('keys', 'create', '--name', 'alice', '--balance', '25')
    await place.json('accounts', 'create', 'acme', '--balance', '10', '--ref', 'first')
    const made = await place.json<{ codes: string[] }>('codes', 'create', '--count', '3', '--amount', '5', '--batch', 'spring')
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': secret },
      body: JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    const requestId = answer.headers.get('x-request-id') ?? ''
    await answer.text()
    place.write('report.json', REPORT)
    place.write('dearer.toml', DEARER)
    const cases: readonly Case[] = [
      { argv: ['serve', '--port', '0'], code: 3, err: /in use by pid \d+/ },
      { argv: ['simulate', '--port', '99999'], code: 2 },
      { argv: ['keys', 'create', '--name', 'bob', '--account', 'acme', '--limit', '3', '--reason', 'asked'], out: /"key": "sk-/ },
      { argv: ['keys', 'list'], out: /"alice"/ },
      { argv: ['keys', 'show', 'alice'], out: /"alice"/ },
      { argv: ['keys', 'rename', 'alice', 'alicia'], out: /"alicia"/ },
      { argv: ['keys', 'limit', keyId, '7.50'], out: /"limit_usd": 7.5/ },
      { argv: ['keys', 'rates', keyId, '--requests-per-minute', '60'], out: /"requests_per_minute": 60/ },
      { argv: ['keys', 'limit', keyId, '2', '--per', 'day'], out: /"left_usd": 1.99/ },
      { argv: ['keys', 'extend', keyId, '--days', '30'], out: /"expires_at": "2/ },
      { argv: ['keys', 'disable', keyId], out: /"is_active": false/ },
      { argv: ['keys', 'enable', keyId], out: /"is_active": true/ },
      { argv: ['keys', 'rotate', keyId, '--overlap-hours', '1'], out: /"key": "sk-/ },
      { argv: ['accounts', 'create', 'other', '--balance', '1'], out: /"other"/ },
      { argv: ['accounts', 'list'], out: /"acme"/ },
      { argv: ['accounts', 'show', 'acme'], out: /"acme"/ },
      { argv: ['accounts', 'rename', 'other', 'another'], out: /"another"/ },
      { argv: ['accounts', 'top-up', 'acme', '5', '--ref', 'invoice-1'], out: /"balance_usd": 15/ },
      { argv: ['accounts', 'top-up', 'acme', '5', '--ref', 'invoice-1'], out: /"already": true/ },
      { argv: ['accounts', 'refund', 'acme', '2', '--reason', 'sent back'], out: /"balance_usd": 13/ },
      { argv: ['accounts', 'correct', 'acme', '-1', '--reason', 'counted twice'], out: /"balance_usd": 12/ },
      { argv: ['usage', '--by', 'tag'], out: /"data"/ },
      { argv: ['usage', '--by', 'model,key', '--step', 'week', '--only', 'format=chat'], out: /"total"/ },
      { argv: ['usage', '--margin', '--by', 'upstream'], out: /"total"/ },
      { argv: ['accounts', 'limit', 'another', '5', '--per', 'month'], out: /"left_usd": 5/ },
      { argv: ['accounts', 'plan', 'another', 'default'], out: /"plan": "default"/ },
      { argv: ['accounts', 'tags', 'another', 'on'], out: /"tags_user_ids": true/ },
      { argv: ['accounts', 'disable', 'another'], out: /"is_active": false/ },
      { argv: ['accounts', 'enable', 'another'], out: /"is_active": true/ },
      { argv: ['usage'], out: /"data"/ },
      { argv: ['receipts', 'list'], out: new RegExp(requestId) },
      { argv: ['receipts', 'show', requestId], out: new RegExp(requestId) },
      { argv: ['attempts', 'list'], out: /"data"/ },
      { argv: ['top-ups', 'list', '--account', 'acme'], out: /invoice-1/ },
      { argv: ['codes', 'create', '--count', '1', '--amount', '2'], out: /TG-/ },
      { argv: ['codes', 'list'], out: /"spring"/ },
      { argv: ['codes', 'redeem', made.codes[0] ?? '', '--account', 'acme'], out: /"amount_usd": 5,[\s\S]*"already": false/ },
      { argv: ['codes', 'redeem', made.codes[0] ?? '', '--account', 'acme'], out: /"amount_usd": 5,[\s\S]*"already": true/ },
      { argv: ['codes', 'disable', 'spring'], out: /"state": "disabled"/ },
      { argv: ['tokens', 'create', 'shop', '--scope', 'keys', '--account', 'acme', '--expires-in-days', '30'], out: /"token": "tgop_/ },
      { argv: ['tokens', 'list'], out: /"state": "live"/ },
      { argv: ['tokens', 'revoke', 'shop', '--reason', 'a look'], out: /"state": "revoked"/ },
      { argv: ['holds', 'list'], out: /"is_running": true/ },
      { argv: ['nodes', 'list'], out: /"state": "running"/ },
      { argv: ['upstreams', 'list'], out: /"simulator"/ },
      { argv: ['upstreams', 'out', 'simulator', '--reason', 'a look'], out: /./ },
      { argv: ['upstreams', 'in', 'simulator'], out: /./ },
      { argv: ['upstreams', 'probe', 'nowhere'], code: 2, err: /no upstream is named nowhere/ },
      { argv: ['audit', 'list'], out: /"ref": "code:batch_/ },
      { argv: ['reconcile', 'report.json'] },
      { argv: ['reprice', '--models', 'dearer.toml'], out: /"claude-sonnet-5-5"/ },
      { argv: ['import', '--check'], out: /"ok": true/ },
      { argv: ['people', 'invite', 'ann@example.com', '--account', 'acme'], out: /http/ },
      { argv: ['people', 'list'], out: /ann@example\.com/ },
      { argv: ['people', 'reset', 'ann@example.com'], code: 2, err: /no person has the e-mail/ },
      { argv: ['people', 'remove', 'ann@example.com'], out: /\{/ },
      { argv: ['verify'] },
      { argv: ['statement', 'acme'], out: /"signature"/ },
      { argv: ['verify-statement', 'statement.jsonl'] },
      { argv: ['backup', 'copy.db'] },
      { argv: ['restore', 'copy.db'], code: 3, err: /stop it first/ },
      { argv: ['ledger', 'copy', '--to-env', 'NOWHERE'], code: 2, err: /NOWHERE/ },
      { argv: ['doctor', '--no-network'], out: /one is running/ },
      { argv: ['check-config'] },
    ]
    const printsJson = new Set(['serve', 'simulate', 'statement', 'verify-statement'])
    for (const { argv, code = 0, out = /^/, err = /^/ } of cases) {
      const ran = await place.run(...argv, ...(printsJson.has(argv[0] ?? '') ? [] : ['--json']))
      expect({ argv, code: ran.code, err: ran.err }).toEqual({ argv, code, err: expect.stringMatching(err) })
      expect(out.test(ran.out), `${argv.join(' ')} prints ${out}: ${ran.out.slice(0, 2_000)}`).toBeTrue()
      if (argv[0] === 'statement') place.write('statement.jsonl', ran.out)
    }
    const run = cases.map(({ argv }) => argv.join(' '))
    const missing = (await commandsOf((...argv) => place.run(...argv)))
      .filter(({ isGroup, words }) => !isGroup && !run.some((line) => line === words.join(' ') || line.startsWith(`${words.join(' ')} `)))
      .map(({ words }) => words.join(' '))
    expect(missing).toEqual([])
    expect(gateway.err()).not.toContain('"alarm":')
    await place.verify()
  },
  10 * PROCESS_TIMEOUT_MS,
)
