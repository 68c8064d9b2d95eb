/** Prepaid codes are money: each becomes one credit of one account, whoever asks for it, how often and at which moment. */

import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { openDatabase } from '../../db/open.ts'
import { picos } from '../../src/core/money.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Operation, OperationResult } from '../../src/ledger/operation.ts'
import { openReport } from '../../src/ledger/report.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { createKey, type Machine, makePath, NOW, openMachine, openTestLedger, operateTask, sha256, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'
import { seeded } from '../support/seed.ts'
import { fileTest } from '../support/store-choice.ts'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)

type CreateCodes = Extract<Operation, { kind: 'createCodes' }>
const createCodes = (batchId: string, count: number, more: Partial<CreateCodes> = {}): CreateCodes => ({
  kind: 'createCodes',
  batchId,
  name: '',
  amountPicos: usd('25'),
  expiresAt: null,
  codes: Array.from({ length: count }, (_, index) => ({ codeHash: sha256(`${batchId}-${index + 1}`), display: `TG-…${index}` })),
  now: NOW,
  ...more,
})
const createAccount = (accountId: string): Operation => ({ kind: 'createAccount', accountId, name: '', topUp: null, now: NOW })
const redeem = (code: string, accountId: string, creditId: string, now = NOW): Operation => ({
  kind: 'redeemCode',
  codeHash: sha256(code),
  accountId,
  creditId,
  now,
})

describe('on the state machine', () => {
  let machine: Machine
  const operate = (operation: Operation) => machine.ask(operateTask(operation))
  const rows = (query: string) => machine.db.query<Record<string, unknown>, []>(query).all()
  const open = (count: number, more: Partial<CreateCodes> = {}): void => {
    machine = openMachine()
    for (const accountId of ['acc_a', 'acc_b']) expect(operate(createAccount(accountId))).toEqual({ result: 'done' })
    expect(operate(createCodes('batch_1', count, more))).toEqual({ result: 'done' })
  }
  afterEach(() => {
    expect(machine.differences()).toEqual([])
    machine.close()
  })

  test('a code becomes one credit in the commit of its redemption, with its line in the audit log', () => {
    open(2)
    expect(operate(redeem('batch_1-2', 'acc_a', 'crd_1'))).toEqual({ result: 'done', redeemedPicos: usd('25') })
    expect(rows('SELECT id, kind, amount_picos, ref, actor FROM credits')).toEqual([
      { id: 'crd_1', kind: 'top-up', amount_picos: usd('25'), ref: 'code:batch_1-2', actor: 'os:tester' },
    ])
    expect(rows('SELECT place, credit_id, account_number, redeemed_at FROM codes')).toEqual([
      { place: 1n, credit_id: null, account_number: null, redeemed_at: null },
      { place: 2n, credit_id: 'crd_1', account_number: 1n, redeemed_at: BigInt(NOW) },
    ])
    expect(rows("SELECT target, json_extract(after, '$.ref') AS ref FROM audit_log WHERE action = 'credit'")).toEqual([
      { target: 'acc_a', ref: 'code:batch_1-2' },
    ])
  })

  test('again by the same account is a success that names the first credit; by another it is refused', () => {
    open(1)
    operate(redeem('batch_1-1', 'acc_a', 'crd_1'))
    expect(operate(redeem('batch_1-1', 'acc_a', 'crd_1'))).toEqual({ result: 'done', redeemedPicos: usd('25') })
    const earlier = { creditId: 'crd_1', accountId: 'acc_a' }
    expect(operate(redeem('batch_1-1', 'acc_a', 'crd_2'))).toEqual({ result: 'done', redeemedPicos: usd('25'), earlier })
    expect(operate(redeem('batch_1-1', 'acc_b', 'crd_3'))).toEqual({ result: 'refused', problem: 'the code was used' })
    expect(operate({ kind: 'disableCodes', batchId: 'batch_1', now: NOW })).toEqual({ result: 'done' })
    expect(operate(redeem('batch_1-1', 'acc_a', 'crd_4'))).toMatchObject({ result: 'done', earlier })
    expect(rows('SELECT id FROM credits')).toEqual([{ id: 'crd_1' }])
  })

  test('unknown, expired and disabled are told in the same words, and change nothing', () => {
    open(2, { expiresAt: NOW + 10 })
    operate(createCodes('batch_2', 1))
    operate({ kind: 'disableCodes', batchId: 'batch_2', now: NOW })
    const refusal = { result: 'refused', problem: 'the code is not valid' }
    expect(operate(redeem('batch_1-9', 'acc_a', 'crd_1'))).toEqual(refusal)
    expect(operate(redeem('batch_1-1', 'acc_a', 'crd_1', NOW + 10))).toEqual(refusal)
    expect(operate(redeem('batch_2-1', 'acc_a', 'crd_1'))).toEqual(refusal)
    expect(operate(redeem('batch_1-1', 'acc_x', 'crd_1'))).toMatchObject({ result: 'refused' })
    expect(operate(redeem('batch_1-1', 'acc_a', 'crd_1', NOW + 9))).toMatchObject({ result: 'done' })
  })

  test('a batch that is made or disabled twice is so once; another under its id or name, and codes that are taken, are refused', () => {
    open(1000, { name: 'spring' })
    expect(operate(createCodes('batch_1', 1000, { name: 'spring' }))).toEqual({ result: 'done' })
    for (const wrong of [
      createCodes('batch_1', 1000, { name: 'summer' }),
      createCodes('batch_2', 1, { name: 'spring' }),
      createCodes('batch_2', 0),
      createCodes('batch_2', 1001),
      createCodes('batch_2', 1, { amountPicos: picos(0n) }),
      createCodes('batch_2', 1, { codes: createCodes('batch_1', 1).codes }),
      { kind: 'disableCodes', batchId: 'batch_9', now: NOW } as const,
    ]) {
      expect(operate(wrong)).toMatchObject({ result: 'refused' })
    }
    expect(rows('SELECT count(*) AS n FROM codes')).toEqual([{ n: 1000n }])
    for (let n = 0; n < 2; n++) expect(operate({ kind: 'disableCodes', batchId: 'batch_1', now: NOW + n })).toEqual({ result: 'done' })
    expect(rows("SELECT action FROM audit_log WHERE target = 'batch_1'")).toEqual([{ action: 'createCodes' }, { action: 'disableCodes' }])
    const audit = JSON.stringify(rows('SELECT before, after FROM audit_log'))
    expect(audit).not.toContain(Buffer.from(sha256('batch_1-1')).toString('hex'))
  })

  test('no other credit takes a code’s reference, so nobody can keep one from being redeemed', () => {
    open(1)
    const topUp = { creditId: 'crd_1', amountPicos: usd('1'), ref: 'code:batch_1-1' }
    for (const operation of [
      { kind: 'credit', creditKind: 'top-up', accountId: 'acc_a', ...topUp, now: NOW },
      createKey('key_a', { accountId: 'acc_a', topUp }),
    ] as const) {
      expect(operate(operation)).toMatchObject({ result: 'refused' })
    }
    expect(operate(redeem('batch_1-1', 'acc_b', 'crd_1'))).toMatchObject({ result: 'done' })
  })

  test('an account that would pass its maximum is not topped up, and the code is good for later', () => {
    open(1)
    operate({ kind: 'credit', creditKind: 'top-up', creditId: 'max', accountId: 'acc_a', amountPicos: usd('9000000'), ref: '', now: NOW })
    expect(operate(redeem('batch_1-1', 'acc_a', 'crd_1'))).toMatchObject({ result: 'refused' })
    expect(operate(redeem('batch_1-1', 'acc_b', 'crd_2'))).toMatchObject({ result: 'done' })
  })

  test('the database itself refuses what would change a code that was redeemed, or redeem one that is over', () => {
    open(3, { expiresAt: NOW + 10 })
    operate(redeem('batch_1-1', 'acc_a', 'crd_1'))
    operate({ kind: 'credit', creditKind: 'top-up', creditId: 'crd_2', accountId: 'acc_a', amountPicos: usd('25'), ref: '', now: NOW })
    for (const statement of [
      'UPDATE codes SET redeemed_at = 1 WHERE place = 1',
      'UPDATE codes SET account_number = NULL, credit_id = NULL, redeemed_at = NULL WHERE place = 1',
      "UPDATE codes SET display = 'TG-…XXXX' WHERE place = 2",
      `UPDATE codes SET account_number = 1, credit_id = 'crd_2', redeemed_at = ${NOW + 10} WHERE place = 2`,
      `UPDATE codes SET account_number = 1, credit_id = 'crd_1', redeemed_at = ${NOW} WHERE place = 2`,
      `UPDATE codes SET credit_id = 'crd_2' WHERE place = 2`,
      'DELETE FROM codes',
      'UPDATE code_batches SET amount_picos = 1',
      'UPDATE code_batches SET expires_at = NULL',
      'DELETE FROM code_batches',
    ]) {
      expect(() => machine.db.run(statement), statement).toThrow()
    }
    machine.db.run(`UPDATE code_batches SET disabled_at = ${NOW}`)
    expect(() => machine.db.run(`UPDATE codes SET account_number = 1, credit_id = 'crd_2', redeemed_at = ${NOW} WHERE place = 2`)).toThrow()
    expect(() => machine.db.run('UPDATE code_batches SET disabled_at = NULL')).toThrow()
  })

  fileTest()('verify names a redemption without its credit, a credit without its redemption, and one that was credited twice', () => {
    open(2)
    operate(redeem('batch_1-1', 'acc_a', 'crd_1'))
    machine.db.run('BEGIN')
    machine.db.run('DROP TRIGGER codes_only_redeemed')
    machine.db.run('UPDATE codes SET account_number = 2 WHERE place = 1')
    const rule = 'a code that was redeemed and its credit are one'
    expect(machine.differences().filter((found) => found.rule === rule)).toMatchObject([{ subject: 'code:batch_1-1' }])
    machine.db.run('UPDATE codes SET account_number = NULL, credit_id = NULL, redeemed_at = NULL WHERE place = 1')
    expect(machine.differences().filter((found) => found.rule === rule)).toMatchObject([{ subject: 'code:batch_1-1', stored: 'none' }])
    machine.db.run('ROLLBACK')
    machine.db.run('BEGIN')
    machine.db.run('DROP INDEX credits_ref')
    machine.db.run("CREATE TEMP TABLE again AS SELECT * FROM credits WHERE id = 'crd_1'")
    machine.db.run("UPDATE again SET id = 'crd_0', seq = seq + 100")
    machine.db.run('INSERT INTO credits SELECT * FROM again')
    expect(machine.differences().filter((found) => found.rule === rule)).toMatchObject([
      { subject: 'code:batch_1-1', recomputed: '2 credits' },
    ])
    machine.db.run('ROLLBACK')
  })

  test('whatever is asked in whichever order, the credits are the codes that were redeemed', () => {
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant('redeem' as const),
          code: fc.nat(6),
          account: fc.constantFrom('acc_a', 'acc_b'),
          later: fc.nat(20),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('disable' as const), batch: fc.constantFrom('batch_1', 'batch_2') }) },
    )
    fc.assert(
      fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { maxLength: 8 }), (groups) => {
        open(3, { expiresAt: NOW + 10 })
        operate(createCodes('batch_2', 3, { amountPicos: usd('7') }))
        const owners = new Map<string, string>()
        const disabled = new Set<string>()
        let credits = 0
        for (const group of groups) {
          const asked = group.map((one) =>
            one.kind === 'disable'
              ? ({ kind: 'disableCodes', batchId: one.batch, now: NOW } as const)
              : redeem(`batch_${one.code < 3 ? 1 : 2}-${(one.code % 3) + 1}`, one.account, `crd_${credits++}`, NOW + one.later),
          )
          const answers = machine.askAll(...asked.map((operation) => operateTask(operation))) as OperationResult[]
          group.forEach((one, index) => {
            if (one.kind === 'disable') {
              disabled.add(one.batch)
              return
            }
            const batch = one.code < 3 ? 'batch_1' : 'batch_2'
            const code = `${batch}-${(one.code % 3) + 1}`
            const isLive = !disabled.has(batch) && (batch === 'batch_2' || one.later < 10)
            if (!owners.has(code) && isLive) owners.set(code, one.account)
            expect(answers[index]?.result).toBe(owners.get(code) === one.account ? 'done' : 'refused')
          })
        }
        for (const account of ['acc_a', 'acc_b']) {
          const owned = [...owners].filter(([, owner]) => owner === account).map(([code]) => (code.startsWith('batch_1') ? 25n : 7n))
          const expected = owned.reduce((sum, amount) => sum + amount, 0n) * 1_000_000_000_000n
          expect(rows(`SELECT balance_picos AS balance FROM accounts WHERE id = '${account}'`)).toEqual([{ balance: expected }])
        }
        expect(machine.differences()).toEqual([])
        machine.close()
      }),
      { numRuns: runs(15) },
    )
    open(1)
  })
})

describe('on the whole ledger', () => {
  const verify = (path: string) => {
    const db = openDatabase(path, 'read')
    if ('problem' in db) throw new Error(db.message)
    const found = differencesInFile(db)
    db.close()
    return found
  }
  const creditsAt = (path: string) => {
    const report = openReport({ kind: 'sqlite', path })
    if ('problem' in report) throw new Error(report.message)
    const { rows } = report.lists.credits({
      accountId: undefined,
      ref: undefined,
      from: undefined,
      to: undefined,
      after: undefined,
      limit: 1000,
    })
    report.close()
    return rows
  }
  const openWithCodes = async (): Promise<{ ledger: Ledger; path: string }> => {
    const opened = await openTestLedger()
    for (let n = 0; n < 50; n++) await opened.ledger.operate(createKey(`key_${n}`))
    await opened.ledger.operate(createCodes('batch_1', 2))
    return opened
  }

  fileTest()('50 times at once by one account, and by 50 accounts, is one credit', async () => {
    const { ledger, path } = await openWithCodes()
    const same = await Promise.all(Array.from({ length: 50 }, (_, n) => ledger.operate(redeem('batch_1-1', 'acc_0', `crd_a${n}`))))
    expect(same.map(({ result }) => result)).toEqual(Array(50).fill('done'))
    expect(same.filter((answer) => answer.result === 'done' && answer.earlier === undefined)).toHaveLength(1)
    const others = await Promise.all(Array.from({ length: 50 }, (_, n) => ledger.operate(redeem('batch_1-2', `acc_${n}`, `crd_b${n}`))))
    expect(others.filter(({ result }) => result === 'done')).toHaveLength(1)
    expect(others.filter((answer) => answer.result === 'refused' && answer.problem === 'the code was used')).toHaveLength(49)
    await ledger.close()
    expect(
      creditsAt(path)
        .map(({ ref }) => ref)
        .sort(),
    ).toEqual(['code:batch_1-1', 'code:batch_1-2'])
    expect(verify(path)).toEqual([])
  })

  fileTest()('the money can be spent when the redemption is answered, by keys that are in memory', async () => {
    const { ledger } = await openWithCodes()
    await ledger.findKey(sha256('key_1'))
    expect(ledger.keyBalanceOf('key_1')).toMatchObject({ account: { balancePicos: picos(0n) } })
    await ledger.operate(redeem('batch_1-1', 'acc_1', 'crd_1'))
    expect(ledger.keyBalanceOf('key_1')).toMatchObject({ account: { balancePicos: usd('25') }, lastSyncedAt: NOW })
    await ledger.operate(redeem('batch_1-1', 'acc_1', 'crd_2'))
    expect(ledger.keyBalanceOf('key_1')).toMatchObject({ account: { balancePicos: usd('25') } })
    await ledger.close()
  })

  fileTest()(
    'nothing that was answered is lost by kill -9, and nothing is credited twice when it is asked again',
    seeded(async (random) => {
      const path = makePath()
      const acknowledged: string[] = []
      for (let round = 1; round <= ROUNDS; round++) {
        const hammer = join(import.meta.dir, '../support/code-hammer.ts')
        const child = Bun.spawn([process.execPath, hammer, path, `boot_${round}`, String(round)], { stderr: 'inherit' })
        const decoder = new TextDecoder()
        let text = ''
        for await (const chunk of child.stdout) {
          if (text === '') setTimeout(() => child.kill('SIGKILL'), random() * 150)
          text += decoder.decode(chunk)
        }
        await child.exited
        expect(child.signalCode).toBe('SIGKILL')
        acknowledged.push(...text.split('\n').slice(0, -1))
      }
      const { ledger } = await openTestLedger({ path, bootId: 'after' })
      await ledger.close()
      expect(verify(path)).toEqual([])
      const refs = creditsAt(path).map(({ ref }) => ref)
      expect(new Set(refs).size).toBe(refs.length)
      expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS)
      expect(acknowledged.filter((ref) => !refs.includes(ref))).toEqual([])
    }),
    60_000 + ROUNDS * 10_000,
  )
})
