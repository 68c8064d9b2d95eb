/**
 * An act is one act in code: given at the command line, on the console and over the operator's API it leaves the same rows and the same line in the audit log, whatever acts
 * came before it; where one of them refuses it, all do. Rules: operator-api.md "Writes"; pages.md "Acts of operators"; operator.md "Audit".
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/ledger/operations/new-id.ts'
import { Workplace } from '../../cli/run.ts'
import { type ApiClient, apiClient } from '../../support/api-client.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { runs } from '../../support/property-runs.ts'

/** `account`, `key`, `batch`: the place of a thing among those that were made; one that is not there is an id that is not. */
type Act =
  | Readonly<{ kind: 'createAccount'; name: string; balance: string; ref: string; reason: string }>
  | Readonly<{ kind: 'credit'; credit: 'top-up' | 'refund' | 'correction'; account: number; usd: string; ref: string; reason: string }>
  | Readonly<{ kind: 'renameAccount'; account: number; name: string; reason: string }>
  | Readonly<{ kind: 'setAccount'; account: number; to: 'disable' | 'enable'; reason: string }>
  | Readonly<{ kind: 'createKey'; account: number; name: string; limit: string; days: number; reason: string }>
  | Readonly<{ kind: 'renameKey'; key: number; name: string; reason: string }>
  | Readonly<{ kind: 'limitKey'; key: number; limit: string; reason: string }>
  | Readonly<{ kind: 'extendKey'; key: number; days: number; reason: string }>
  | Readonly<{ kind: 'setKey'; key: number; to: 'disable' | 'enable'; reason: string }>
  | Readonly<{ kind: 'rotateKey'; key: number; hours: number; reason: string }>
  | Readonly<{ kind: 'createCodes'; count: number; usd: string; name: string; reason: string }>
  | Readonly<{ kind: 'disableCodes'; batch: number; reason: string }>

/** A way to act, with the ids of what was made over it. */
type Made = { accounts: string[]; keys: string[]; batches: string[] }
type Way = Readonly<{ gateway: TestGateway; made: Made; act(act: Act): Promise<Record<string, unknown> | 'refused'> }>

const NONE = { account: 'acc_00000000000000000000000000000000', key: 'key_00000000000000000000000000000000', batch: 'batch_none' }
const idsOf = (made: Made, act: Act) => ({
  account: 'account' in act ? (made.accounts[act.account] ?? NONE.account) : '',
  key: 'key' in act ? (made.keys[act.key] ?? NONE.key) : '',
  batch: 'batch' in act ? (made.batches[act.batch] ?? NONE.batch) : '',
})

function argvOf(act: Act, made: Made): readonly string[] {
  const { account, key, batch } = idsOf(made, act)
  switch (act.kind) {
    case 'createAccount':
      return [
        'accounts',
        'create',
        act.name,
        ...(act.balance === '' ? [] : ['--balance', act.balance, ...(act.ref === '' ? [] : ['--ref', act.ref])]),
      ]
    case 'credit':
      return [
        'accounts',
        act.credit === 'correction' ? 'correct' : act.credit,
        account,
        ...(act.ref === '' ? [] : ['--ref', act.ref]),
        '--',
        act.usd,
      ]
    case 'renameAccount':
      return ['accounts', 'rename', account, act.name]
    case 'setAccount':
      return ['accounts', act.to, account]
    case 'createKey':
      return [
        'keys',
        'create',
        '--account',
        account,
        '--name',
        act.name,
        '--limit',
        act.limit === '' ? 'none' : act.limit,
        '--expires-in-days',
        String(act.days),
      ]
    case 'renameKey':
      return ['keys', 'rename', key, act.name]
    case 'limitKey':
      return ['keys', 'limit', key, act.limit === '' ? 'none' : act.limit]
    case 'extendKey':
      return ['keys', 'extend', key, '--days', String(act.days)]
    case 'setKey':
      return ['keys', act.to, key]
    case 'rotateKey':
      return ['keys', 'rotate', key, '--overlap-hours', String(act.hours)]
    case 'createCodes':
      return ['codes', 'create', '--count', String(act.count), '--amount', act.usd, ...(act.name === '' ? [] : ['--batch', act.name])]
    case 'disableCodes':
      return ['codes', 'disable', batch]
  }
}

/** A request of the console or of the API, below the root of either; they differ in a few fields. */
function requestOf(act: Act, made: Made, isApi: boolean): Readonly<{ method: string; path: string; body: Record<string, unknown> }> {
  const { account, key, batch } = idsOf(made, act)
  const id = isApi ? {} : { id: newId('crd', Date.now()).slice(4) }
  const of = (path: string, body: Record<string, unknown>, method = 'POST') => ({ method, path, body: { ...body, reason: act.reason } })
  const limit = (text: string) => ({ limit_usd: text === '' ? null : text })
  switch (act.kind) {
    case 'createAccount':
      return of('/accounts', {
        ...id,
        name: act.name,
        ...(act.balance === '' ? {} : { balance_usd: act.balance, ...(act.ref === '' ? {} : { ref: act.ref }) }),
      })
    case 'credit': {
      const body = { amount_usd: act.usd, ...(act.ref === '' ? {} : { ref: act.ref }) }
      return isApi
        ? of(`/accounts/${account}/${act.credit}s`, body)
        : of(`/accounts/${account}/credits`, { ...id, kind: act.credit, ...body })
    }
    case 'renameAccount':
      return isApi ? of(`/accounts/${account}/rename`, { name: act.name }) : of(`/accounts/${account}`, { name: act.name }, 'PATCH')
    case 'setAccount':
      return of(`/accounts/${account}/${act.to}`, {})
    case 'createKey':
      return of('/keys', { ...id, account_id: account, name: act.name, plan: 'default', ...limit(act.limit), expires_in_days: act.days })
    case 'renameKey':
      return isApi ? of(`/keys/${key}/rename`, { name: act.name }) : of(`/keys/${key}`, { name: act.name }, 'PATCH')
    case 'limitKey':
      return isApi ? of(`/keys/${key}/limit`, limit(act.limit)) : of(`/keys/${key}`, limit(act.limit), 'PATCH')
    case 'extendKey':
      return of(`/keys/${key}/extend`, { ...id, days: act.days })
    case 'setKey':
      return of(`/keys/${key}/${act.to}`, {})
    case 'rotateKey':
      return of(`/keys/${key}/rotate`, { ...id, overlap_hours: act.hours })
    case 'createCodes':
      return of('/codes', { ...id, count: act.count, amount_usd: act.usd, ...(act.name === '' ? {} : { name: act.name }) })
    case 'disableCodes':
      return of(`/codes/${batch}/disable`, {})
  }
}

const ways: Record<string, Way> = {}
let place: Workplace
/** Each try has a token of its own, since a token may not write more often than twice a second for long. */
let client: ApiClient

beforeAll(async () => {
  place = new Workplace()
  const gateways = [await startTestGateway(), await startTestGateway(), await startTestGateway()] as const
  place.write('tollgate.toml', `[ledger]\npath = ${JSON.stringify(gateways[0].ledgerPath)}\n`)
  const operator: Operator = await signInOperator(gateways[1])
  client = await apiClient(gateways[2])
  const origin = gateways[1].operatorUrl
  const made = (): Made => ({ accounts: [], keys: [], batches: [] })
  const [cli, pages, api] = [made(), made(), made()]
  ways['cli'] = {
    gateway: gateways[0],
    made: cli,
    async act(act) {
      place.now = Date.now()
      const [group = '', verb = '', ...rest] = argvOf(act, cli)
      const { code, out } = await place.run(group, verb, '--json', '--reason', act.reason, ...rest)
      return code === 0 ? (JSON.parse(out) as Record<string, unknown>) : 'refused'
    },
  }
  ways['console'] = {
    gateway: gateways[1],
    made: pages,
    async act(act) {
      const { method, path, body } = requestOf(act, pages, false)
      const headers = { cookie: operator.cookie, origin, 'content-type': 'application/json' }
      const ask = () => fetch(`${origin}/console/api${path}`, { method, headers, body: JSON.stringify(body) })
      let answer = await ask()
      // A person may not write more often than twice a second for long.
      while (answer.status === 429) {
        await Bun.sleep(1_000 * Number(answer.headers.get('retry-after')))
        answer = await ask()
      }
      return answer.ok ? ((await answer.json()) as Record<string, unknown>) : 'refused'
    },
  }
  ways['api'] = {
    gateway: gateways[2],
    made: api,
    async act(act) {
      const { path, body } = requestOf(act, api, true)
      const answer = await client.post(path, body)
      expect(answer.status).not.toBe(429)
      return answer.status === 200 ? answer.body : 'refused'
    },
  }
})
afterAll(async () => {
  for (const { gateway } of Object.values(ways)) {
    expect(gateway.verify()).toEqual([])
    await gateway.stop()
  }
  place.remove()
})

const DAY_MS = 86_400_000
const SETUP = "('createToken', 'noteTokenUse', 'setAccess', 'giveLink')"

/** All rows that acts leave, with ids, times and displays as what they stand for. */
function rowsOf(gateway: TestGateway): string {
  const db = new Database(gateway.ledgerPath, { readonly: true })
  try {
    const all = (query: string) => db.query<Record<string, unknown>, []>(query).all()
    const names = new Map<string, string>()
    for (const table of ['accounts', 'keys', 'code_batches'])
      for (const { id, number } of all(`SELECT id, number FROM ${table} ORDER BY number`)) names.set(String(id), `${table} ${number}`)
    const days = (from: string, to: string) => `CAST(round((${to} - ${from}) / ${DAY_MS}.0) AS INTEGER)`
    const rows = [
      all('SELECT number, name, credited_picos, balance_picos, is_active FROM accounts ORDER BY number'),
      all(
        `SELECT account_number, name, plan, limit_picos, is_active, ${days('created_at', 'expires_at')} AS days FROM keys ORDER BY number`,
      ),
      all('SELECT account_number, kind, amount_picos, ref, reason FROM credits ORDER BY created_at, seq'),
      all(
        'SELECT name, amount_picos, disabled_at IS NULL AS live, (SELECT count(*) FROM codes WHERE batch_number = number) AS codes FROM code_batches ORDER BY number',
      ),
      all(`SELECT at, action, target, reason, before, after FROM audit_log WHERE action NOT IN ${SETUP} ORDER BY id`).map(
        ({ at, ...line }) => ({
          ...line,
          before: known(String(line['before']), Number(at)),
          after: known(String(line['after']), Number(at)),
        }),
      ),
    ]
    return [...names].reduce((text, [id, name]) => text.replaceAll(id, name), JSON.stringify(rows, null, 1))
  } finally {
    db.close()
  }
}

/** The facts of a line, whose times are days from its own. */
const known = (facts: string, at: number): string =>
  facts
    .replaceAll(
      /"(expiresAt|oldValidUntil)":(\d+)/g,
      (_, name: string, time: string) => `"${name}":${Math.round(((Number(time) - at) / DAY_MS) * 24)}`,
    )
    .replaceAll(/crd_[0-9a-f]{32}/g, 'a credit')
    .replaceAll(/sk-…\w{4}/g, 'sk-…')

const name = fc.constantFrom('north', 'south', 'é', 'a b', 'key_x', 'x'.repeat(129))
const usd = fc.constantFrom('5', '0.000001', '12.5', '0', '-3', 'much', '9000001')
const limit = fc.constantFrom('', '5', '0', '-1', '1.25', 'x')
const ref = fc.constantFrom('', '', 'inv-1', 'inv-2', 'code:x')
const reason = fc.constantFrom('asked', 'by "phone"', 'paid\u00e9')
const at = fc.nat({ max: 3 })
const to = fc.constantFrom('disable' as const, 'enable' as const)
const days = fc.constantFrom(1, 30, 90)
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('createAccount' as const), name, balance: fc.oneof(fc.constant(''), usd), ref, reason }),
  fc.record({
    kind: fc.constant('credit' as const),
    credit: fc.constantFrom('top-up' as const, 'refund' as const, 'correction' as const),
    account: at,
    usd,
    ref,
    reason,
  }),
  fc.record({ kind: fc.constant('renameAccount' as const), account: at, name, reason }),
  fc.record({ kind: fc.constant('setAccount' as const), account: at, to, reason }),
  fc.record({ kind: fc.constant('createKey' as const), account: at, name, limit, days, reason }),
  fc.record({ kind: fc.constant('renameKey' as const), key: at, name, reason }),
  fc.record({ kind: fc.constant('limitKey' as const), key: at, limit, reason }),
  fc.record({ kind: fc.constant('extendKey' as const), key: at, days, reason }),
  fc.record({ kind: fc.constant('setKey' as const), key: at, to, reason }),
  fc.record({ kind: fc.constant('rotateKey' as const), key: at, hours: fc.constantFrom(0, 24), reason }),
  fc.record({
    kind: fc.constant('createCodes' as const),
    count: fc.integer({ min: 1, max: 3 }),
    usd,
    name: fc.oneof(fc.constant(''), name),
    reason,
  }),
  fc.record({ kind: fc.constant('disableCodes' as const), batch: at, reason }),
)

/** Begins with an account and a key, so that most acts have something to change. */
const FIRST: readonly Act[] = [
  { kind: 'createAccount', name: 'first', balance: '20', ref: '', reason: 'first' },
  { kind: 'createKey', account: 0, name: 'k', limit: '', days: 30, reason: 'first' },
  { kind: 'createAccount', name: 'begins with nothing', balance: '0', ref: '', reason: 'asked' },
]

async function give(one: Act): Promise<void> {
  const answers: Record<string, boolean> = {}
  for (const [way, { act: perform, made }] of Object.entries(ways)) {
    const done = await perform(one)
    answers[way] = done !== 'refused'
    if (done === 'refused') continue
    const id = String(done['id'])
    if (one.kind === 'createAccount') made.accounts.push(id)
    if (one.kind === 'createKey') made.keys.push(id)
    if (one.kind === 'createCodes') made.batches.push(id)
  }
  expect([one, answers]).toEqual([one, { cli: answers['cli'] ?? false, console: answers['cli'] ?? false, api: answers['cli'] ?? false }])
}

test('command line, console and API leave the same rows for the same acts', async () => {
  for (const one of FIRST) await give(one)
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 12 }), async (acts) => {
      if (ways['api'] !== undefined) client = await apiClient(ways['api'].gateway)
      for (const one of acts) await give(one)
      const [cli, pages, api] = [ways['cli'], ways['console'], ways['api']].map((way) => (way === undefined ? '' : rowsOf(way.gateway)))
      expect(pages).toBe(cli ?? '')
      expect(api).toBe(cli ?? '')
    }),
    // The ledgers go on from one try to the next, so nothing shorter would be the same.
    { numRuns: Math.min(20, runs(6)), endOnFailure: true },
  )
})
