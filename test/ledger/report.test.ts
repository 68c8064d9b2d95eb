/** The read-only view: what the command line shows, and that `verify` finds every kind of tampering. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Picos, picos, ZERO } from '../../src/core/money.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { UsageQuery } from '../../src/ledger/reading/operator-lists.ts'
import { openReport, type Report } from '../../src/ledger/report.ts'
import { type Ask, createKey, holdTask, makePath, NOW, openMachine, operateTask, settleTask, sha256, usd } from '../support/ledger.ts'

const DAY_MS = 86_400_000
const checkpointTask = (requestId: string): Ask => ({
  kind: 'checkpoint',
  requestId,
  progress: { usage: NO_USAGE, usageSource: 'none' },
  now: NOW,
})

function reportAt(path: string): Report {
  const report = openReport({ kind: 'sqlite', path })
  if ('problem' in report) throw new Error(report.message)
  return report
}

/** Two keys on one account and one on its own, a few receipts over two days, one request in flight for more than a second. */
function makeLedger(): string {
  const path = makePath()
  const machine = openMachine(path)
  machine.askAll(
    operateTask({ kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: NOW }),
    operateTask({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: 'top_1',
      accountId: 'acc_1',
      amountPicos: usd('10'),
      ref: 'r',
      now: NOW + 1,
    }),
    operateTask(createKey('key_1', { accountId: 'acc_1', name: 'laptop', limitPicos: usd('4') })),
    operateTask(createKey('key_2', { accountId: 'acc_1', now: NOW + 1 })),
    operateTask(createKey('key_3', { name: 'solo', balanceUsd: '1', now: NOW + 2 })),
    operateTask({
      kind: 'rotateKey',
      keyId: 'key_3',
      secretHash: sha256('new'),
      display: 'sk-…new3',
      oldValidUntil: NOW + 9,
      now: NOW + 3,
    }),
  )
  machine.askAll(
    ...['a', 'b', 'c'].map((id) => holdTask(id, 'key_1', usd('0.01'))),
    holdTask('d', 'key_3', usd('0.01')),
    holdTask('e', 'key_2', usd('0.02')),
  )
  machine.ask(checkpointTask('e'))
  machine.askAll(
    settleTask('a', { input: 100, output: 10 }),
    settleTask('b', { input: 1, cacheRead: 5 }),
    settleTask('c', { output: 3, cacheWrite5m: 2, cacheWrite1h: 1, serverToolUses: 1 }, { now: NOW + DAY_MS }),
    settleTask('d', { output: 2 }, { outcome: 'fault', usageSource: 'partial', costPicos: ZERO, waivedPicos: picos(30_000_000n) }),
  )
  machine.close()
  return path
}

test('keys and accounts are found by id or by name, with their money', () => {
  const report = reportAt(makeLedger())
  const spent: Picos = picos(450_000_000n + 4_500_000n + 10_058_500_000n)
  expect(report.accounts.keys({ now: NOW, after: undefined, limit: 10 }).rows.map(({ id }) => id)).toEqual(['key_3', 'key_2', 'key_1'])
  expect(report.accounts.key('laptop')).toEqual({
    id: 'key_1',
    accountId: 'acc_1',
    accountName: 'acme',
    name: 'laptop',
    display: 'sk-…test',
    plan: 'default',
    rates: null,
    limitPicos: usd('4'),
    spentPicos: spent,
    heldPicos: ZERO,
    availablePicos: picos(usd('4') - spent),
    expiresAt: null,
    isActive: true,
    isAccountActive: true,
    createdAt: NOW,
    lastSyncedAt: NOW + DAY_MS,
    lastUsedAt: NOW + DAY_MS,
  })
  expect<unknown>(report.accounts.key('key_2')).toMatchObject({ heldPicos: usd('0.02'), availablePicos: usd('10') - spent })
  expect<unknown>(report.accounts.key('key_3')).toMatchObject({ display: 'sk-…new3', accountName: 'solo' })
  expect(report.accounts.account('acme')).toEqual({
    id: 'acc_1',
    name: 'acme',
    creditedPicos: usd('10'),
    spentPicos: spent,
    balancePicos: picos(usd('10') - spent),
    heldPicos: usd('0.02'),
    isActive: true,
    tagsUserIds: false,
    toppedUpAt: NOW + 1,
    keyCount: 2,
    plan: null,
    createdAt: NOW,
  })
  expect(report.accounts.accounts({ after: undefined, limit: 10 }).rows.map(({ id, keyCount }) => [id, keyCount])).toEqual([
    ['acc_3', 1],
    ['acc_1', 2],
  ])
  expect(report.accounts.key('nobody')).toMatchObject({ problem: 'unknown' })
  expect(report.accounts.account('nobody')).toMatchObject({ problem: 'unknown' })
  report.close()
})

test('an id wins over a name that looks like it, and a name of several is a problem that lists them', () => {
  const path = makeLedger()
  const db = new Database(path)
  db.run("UPDATE keys SET name = 'key_1' WHERE id = 'key_2'")
  db.run('DROP INDEX keys_name')
  db.run("UPDATE keys SET name = 'twin' WHERE id IN ('key_1', 'key_3')")
  db.close()
  const report = reportAt(path)
  expect(report.accounts.key('key_1')).toMatchObject({ id: 'key_1' })
  expect(report.accounts.key('twin')).toEqual({ problem: 'ambiguous', message: 'twin names 2 keys: key_1, key_3' })
  report.close()
})

test('usage is the sum of the receipts by key, model and day', () => {
  const report = reportAt(makeLedger())
  const all = { after: undefined, limit: 9 }
  const { rows } = report.lists.usage(all)
  expect(
    rows.map(({ day, keyId, requests, usage, costPicos, waivedPicos }) => [
      day,
      keyId,
      requests,
      usage.input,
      usage.output,
      costPicos,
      waivedPicos,
    ]),
  ).toEqual([
    ['2027-01-16', 'key_1', 1, 0, 3, picos(10_058_500_000n), ZERO],
    ['2027-01-15', 'key_3', 1, 0, 2, ZERO, picos(30_000_000n)],
    ['2027-01-15', 'key_1', 2, 101, 10, picos(454_500_000n), ZERO],
  ])
  const day = Math.floor(NOW / DAY_MS)
  const keysOf = (query: Partial<UsageQuery>) => report.lists.usage({ ...all, ...query }).rows.map(({ keyId }) => keyId)
  expect(keysOf({ keyId: 'key_3' })).toEqual(['key_3'])
  expect(keysOf({ keyId: 'key_2' })).toEqual([])
  expect(keysOf({ accountId: 'acc_1' })).toEqual(['key_1', 'key_1'])
  expect(keysOf({ toDay: day })).toEqual(['key_3', 'key_1'])
  expect(keysOf({ fromDay: day + 1 })).toEqual(['key_1'])
  const one = report.lists.usage({ ...all, limit: 2 })
  expect(report.lists.usage({ ...all, after: one.next ?? '' })).toEqual({ rows: rows.slice(2), next: null })
  expect(report.lists.usageTotal(all)).toEqual({ requests: 4, costPicos: picos(10_513_000_000n), waivedPicos: picos(30_000_000n) })
  expect(report.lists.usageTotal({ ...all, keyId: 'key_2' })).toEqual({ requests: 0, costPicos: ZERO, waivedPicos: ZERO })
  report.close()
})

test('verify is silent on a sound ledger and names each thing that was tampered with', () => {
  const tampering: readonly (readonly [string, string])[] = [
    ['UPDATE accounts SET credited_picos = credited_picos + 1, balance_picos = balance_picos + 1', 'credits are the sum'],
    ['UPDATE accounts SET spent_picos = spent_picos + 1, balance_picos = balance_picos - 1', 'spend is the sum'],
    ['UPDATE accounts SET balance_picos = balance_picos + 1', 'balance is its credits'],
    ['UPDATE keys SET spent_picos = spent_picos + 1', "key's spend"],
    ["UPDATE receipts SET cost_picos = cost_picos + 1 WHERE request_id = 'a'", 'tokens at its rates'],
    ["UPDATE receipts SET output_tokens = output_tokens + 1 WHERE request_id = 'a'", 'counts (requests'],
    ["DELETE FROM receipts WHERE request_id = 'a'", 'amounts are the sums'],
    ['UPDATE usage_daily SET cost_picos = cost_picos + 1 WHERE key_number = 1', 'amounts are the sums'],
    ['UPDATE usage_daily SET waived_picos = waived_picos - 1 WHERE key_number = 3', 'amounts are the sums'],
    ['UPDATE usage_daily SET requests = requests + 1 WHERE key_number = 3', 'counts (requests'],
    ['DELETE FROM usage_daily WHERE key_number = 3', 'counts (requests'],
    ['UPDATE usage_daily SET estimated_picos = estimated_picos + 1 WHERE key_number = 1', 'estimated part'],
    ['UPDATE keys SET last_used_at = last_used_at + 1 WHERE number = 1', 'last use'],
    ['UPDATE keys SET last_used_at = NULL WHERE number = 1', 'last use'],
    ["UPDATE receipts SET day = day + 1 WHERE request_id = 'd'", 'amounts are the sums'],
    ["UPDATE receipts SET account_number = 2 WHERE request_id = 'a'", "its key's account"],
    ["UPDATE marks SET request_id = 'a'", 'in flight or settled'],
    ['UPDATE marks SET key_number = 99', 'every row has its parent'],
    ["DELETE FROM credits WHERE id = 'top_1'", 'credits are the sum'],
    ["UPDATE receipts SET waived_picos = 5 WHERE request_id = 'a'", 'is not waived'],
    ['UPDATE price_versions SET output_rate_picos = output_rate_picos + 1', 'tokens at its rates'],
    ['UPDATE receipts SET price_number = 9', 'tokens at its rates'],
    ["UPDATE receipts SET outcome = 'complete' WHERE request_id = 'd'", 'what is charged is not waived'],
    ["UPDATE receipts SET outcome = 'fault' WHERE request_id = 'a'", 'what is waived is not charged'],
    ['DELETE FROM audit_log WHERE id = 2', 'no gap'],
    ['DELETE FROM audit_log WHERE id = (SELECT max(id) FROM audit_log)', 'no gap'],
    ["DELETE FROM credits WHERE id = 'top_1'", 'a credit has its line'],
    ["DELETE FROM audit_log WHERE action = 'credit' AND target = 'acc_1'", 'a credit has its line'],
    ['UPDATE audit_log SET after = replace(after, \'"usd":"10"\', \'"usd":"100"\') WHERE target = \'acc_1\'', 'a credit has its line'],
    ["UPDATE credits SET ref = 'R' WHERE id = 'top_1'", 'a credit has its line'],
    ["UPDATE credits SET actor = 'os:mallory' WHERE id = 'top_1'", 'a credit has its line'],
    [
      "INSERT INTO audit_log (at, action, target, after) SELECT at, action, target, after FROM audit_log WHERE action = 'credit'",
      'a credit has its line',
    ],
    ["INSERT INTO boots VALUES (9, 'boot-dead', 'n', 0, 3); UPDATE marks SET boot_number = 9", 'held by the process that opened'],
    ['SELECT 1', 'the schema is that of this program'],
  ]
  const sound = reportAt(makeLedger())
  expect(sound.verify()).toEqual([])
  sound.close()
  for (const [statement, rule] of tampering) {
    const path = makeLedger()
    const db = new Database(path)
    db.run('PRAGMA ignore_check_constraints = ON')
    for (const { name } of db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
      db.run(`DROP TRIGGER ${name}`)
    db.run(statement)
    db.close()
    const report = reportAt(path)
    const found = report.verify()
    expect(`${statement}: ${found.map((difference) => difference.rule).join('; ')}`).toContain(rule)
    for (const { stored, recomputed } of found) expect(stored).not.toBe(recomputed)
    report.close()
  }
}, 180_000)

test('the days of a large ledger are compared in one pass, and one that differs by a picodollar is named', () => {
  const path = makeLedger()
  const db = new Database(path)
  db.run('PRAGMA ignore_check_constraints = ON')
  db.run(
    `CREATE TEMP TABLE many AS WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) SELECT n.n, r.* FROM n, receipts r WHERE request_id = 'a'`,
  )
  db.run(`UPDATE many SET number = 100 + n, request_id = 'many_' || n, day = 30000 + n, settled_at = (30000 + n) * 86400000, seq = 100 + n`)
  db.run('ALTER TABLE many DROP COLUMN n')
  db.run('INSERT INTO receipts SELECT * FROM many')
  db.run(`INSERT INTO usage_daily SELECT key_number, day, 1, price_number, 1, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
    server_tool_uses, cost_picos, waived_picos, 0 FROM many`)
  db.run('UPDATE usage_daily SET cost_picos = cost_picos + 1 WHERE day = 40000')
  db.close()
  const report = reportAt(path)
  const before = process.cpuUsage()
  const found = report.verify().filter(({ rule }) => rule.includes('roll-up'))
  const { user, system } = process.cpuUsage(before)
  expect(found).toEqual([
    {
      rule: "a daily roll-up's amounts are the sums of its receipts",
      subject: 'key_1 sample-large day 40000',
      stored: '450000001',
      recomputed: '450000000',
    },
  ])
  expect((user + system) / 1e6).toBeLessThan(10)
  report.close()
}, 180_000)

test('sums beyond int64 are compared exactly', () => {
  const path = makePath()
  const machine = openMachine(path)
  const most = usd('999999999') / 250n
  for (let n = 1; n <= 5; n++) {
    machine.askAll(
      operateTask(createKey(`key_${n}`)),
      operateTask({
        kind: 'credit',
        creditKind: 'top-up',
        creditId: `a${n}`,
        accountId: `acc_${n}`,
        amountPicos: picos(8_000_000_000_000_000_001n),
        ref: '',
        now: NOW,
      }),
      operateTask({
        kind: 'credit',
        creditKind: 'correction',
        creditId: `b${n}`,
        accountId: `acc_${n}`,
        amountPicos: picos(-most),
        ref: '',
        now: NOW,
      }),
    )
  }
  // A correction down and up again: the credits of one account pass through more than int64 holds.
  for (let n = 0; n < 4; n++) {
    for (const sign of [-1n, 1n]) {
      const amountPicos = picos(sign * 7_999_999_999_999_999_999n)
      expect(
        machine.ask(
          operateTask({
            kind: 'credit',
            creditKind: 'correction',
            creditId: `c${n}${sign}`,
            accountId: 'acc_1',
            amountPicos,
            ref: '',
            now: NOW,
          }),
        ),
      ).toEqual({ result: 'done' })
    }
  }
  expect(machine.differences()).toEqual([])
  machine.db.run("UPDATE accounts SET credited_picos = credited_picos - 1, balance_picos = balance_picos - 1 WHERE id = 'acc_1'")
  expect(machine.differences()).toEqual([
    {
      rule: "an account's credits are the sum of its top-ups, refunds and corrections",
      subject: 'acc_1',
      stored: String(8_000_000_000_000_000_000n - most),
      recomputed: String(8_000_000_000_000_000_001n - most),
    },
  ])
  machine.close()
})

test('a backup beside a running writer is whole, verified and a ledger of its own; an existing file is left alone', () => {
  const path = makeLedger()
  const machine = openMachine(path)
  const report = reportAt(path)
  const file = `${path}.backup`
  machine.askAll(holdTask('f', 'key_1', usd('0.01')), checkpointTask('f'))
  expect(report.backup(file)).toEqual([])
  machine.askAll(holdTask('g', 'key_1', usd('0.01')), checkpointTask('g'))
  expect(report.backup(file)).toMatchObject({ problem: 'unwritable', message: expect.stringContaining('never replaces') })
  const elsewhere = `${dirname(path)}/missing/backup.db`
  expect(report.backup(elsewhere)).toMatchObject({ problem: 'unwritable' })
  expect(existsSync(elsewhere)).toBe(false)
  report.close()
  machine.close()
  const restored = openMachine(file, 'boot-2')
  expect(restored.db.query('SELECT request_id FROM marks ORDER BY 1').values().flat()).toEqual(['e', 'f'])
  expect(restored.ledger.recover(NOW)).toBe(2)
  expect(restored.differences()).toEqual([])
  restored.close()
})

test('a report writes nothing', () => {
  const path = makeLedger()
  const report = reportAt(path)
  report.verify()
  report.close()
  expect(readdirSync(dirname(path)).filter((name) => !/^ledger\.db(-wal|-shm)?$/.test(name))).toEqual([])
  writeFileSync(`${path}-wal`, '')
  const again = reportAt(path)
  expect(again.verify()).toEqual([])
  again.close()
})
