/** `tollgate codes`: what is printed once, what is listed later, and that a batch which was taken back is worth nothing. Rules: pages.md "Codes". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readCode } from '../../src/core/prepaid-code.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
import { sha256, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'
import { NOW, Workplace } from './run.ts'

type Made = { id: string; name: string; codes: string[]; expires_at: string | null; amount_usd: number }
type Listed = Record<string, unknown> & { data: Record<string, unknown>[] }

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

const openAsGateway = async () => {
  const opened = await openLedger({ path: place.ledgerPath, create: true, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  return opened.ledger
}

test('a batch is made and shown once; what stays is a hash and four characters', async () => {
  const made = await place.json<Made>(
    'codes',
    'create',
    '--count',
    '3',
    '--amount',
    '12.50',
    '--batch',
    'spring',
    '--expires-in-days',
    '30',
  )
  expect(made).toMatchObject({ name: 'spring', amount_usd: 12.5, amount_usd_exact: '12.5', expires_at: '2026-12-21T12:00:00.000Z' })
  expect(made.codes.map(readCode)).toEqual(made.codes)
  expect(new Set(made.codes).size).toBe(3)
  const { out } = await place.run('codes', 'create', '--count', '1', '--amount', '5')
  expect(out).toMatch(
    /^batch +batch_[0-9a-f]{32}\namount +\$5\.000000\nexpires +never\n\nTG-[0-9A-Z-]{29}\n\nThe codes are shown this once/,
  )

  const list = await place.json<Listed>('codes', 'list')
  expect(list.data).toMatchObject([
    { name: '', count: 1, redeemed: 0, state: 'live' },
    { id: made.id, name: 'spring', count: 3, redeemed: 0, state: 'live' },
  ])
  const codes = await place.json<Listed>('codes', 'list', '--batch', 'spring')
  expect(codes).toMatchObject({ id: made.id, name: 'spring' })
  expect(codes.data).toEqual(
    made.codes.map((code, index) => ({
      place: index + 1,
      code: `TG-…${code.slice(-4)}`,
      account_id: null,
      credit_id: null,
      redeemed_at: null,
    })),
  )
  const db = new Database(place.ledgerPath, { readonly: true })
  const [first] = made.codes
  expect(db.query<{ hash: Uint8Array }, []>('SELECT hash FROM codes ORDER BY batch_number, place').get()?.hash).toEqual(sha256(first ?? ''))
  db.close()
  expect((await place.json<Listed>('audit', 'list')).data).toMatchObject([
    { action: 'createCodes' },
    { action: 'createCodes', target: made.id, after: { name: 'spring', count: 3, usd: '12.5', expiresAt: NOW + 30 * 86_400_000 } },
  ])
  place.now = NOW + 30 * 86_400_000
  expect((await place.run('codes', 'list')).out).toMatch(/ spring +\$12\.500000 +3 +0 +expired /)
})

test('through a running gateway a whole batch of 1,000 is made, redeemed, listed and taken back', async () => {
  const ledger = await openAsGateway()
  const socket = listenOnOperatorSocket(socketPathOf(place.ledgerPath), ledger)
  const { id: accountId } = await place.json<{ id: string }>('accounts', 'create', 'acme')
  const { codes } = await place.json<Made>('codes', 'create', '--count', '1000', '--amount', '2', '--batch', 'all')
  const redeem = (code: string, creditId: string) =>
    ledger.operate({ kind: 'redeemCode', codeHash: sha256(code), accountId, creditId, now: NOW })
  expect(await redeem(codes[999] ?? '', 'crd_1')).toEqual({ result: 'done', redeemedPicos: usd('2') })
  const redeemed = await place.json('codes', 'redeem', codes[998] ?? '', '--account', 'acme')
  expect(redeemed).toMatchObject({ account_id: accountId, amount_usd_exact: '2', already: false })
  expect((await place.run('codes', 'list', '--batch', 'all')).out).toMatch(/\n1000 +TG-….{4} +acme +crd_1 +2026-11-21T12:00:00\.000Z$/m)
  expect(await place.json('codes', 'disable', 'all', '--reason', 'lost in the post')).toMatchObject({
    count: 1000,
    redeemed: 2,
    state: 'disabled',
  })
  expect(await redeem(codes[0] ?? '', 'crd_2')).toEqual({ result: 'refused', problem: 'the code is not valid' })
  expect((await place.json<Listed>('audit', 'list')).data[0]).toMatchObject({ action: 'disableCodes', reason: 'lost in the post' })
  expect(await place.run('verify')).toMatchObject({ code: 0 })
  socket.close()
  await ledger.close()
})

test('what cannot be is wrong use', async () => {
  await place.json('codes', 'create', '--count', '1', '--amount', '5', '--batch', 'spring')
  for (const argv of [
    ['create', '--amount', '5'],
    ['create', '--count', '0', '--amount', '5'],
    ['create', '--count', '1001', '--amount', '5'],
    ['create', '--count', '1', '--amount', '0'],
    ['create', '--count', '1', '--amount', '-5'],
    ['create', '--count', '1', '--amount', '5', '--expires-in-days', '0'],
    ['create', '--count', '1', '--amount', '5', '--batch', 'spring'],
    ['list', '--batch', 'none'],
    ['disable', 'none'],
  ]) {
    expect((await place.run('codes', ...argv)).code, argv.join(' ')).toBe(2)
  }
  place.write('empty.toml', '[ledger]\npath = "none.db"\n')
  expect((await place.run('codes', 'list', '--config', 'empty.toml')).code).toBe(3)
})

test('an operator redeems a code that a customer spells, once, and the audit log says who', async () => {
  const { codes } = await place.json<Made>('codes', 'create', '--count', '2', '--amount', '12.50')
  const [code = '', other = ''] = codes
  const { id } = await place.json<{ id: string }>('accounts', 'create', 'acme')
  await place.json('accounts', 'create', 'second')
  const spelled = code.replace('TG-', '').replaceAll('-', ' ').toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l')
  const redeemed = await place.json('codes', 'redeem', spelled, '--account', 'acme', '--reason', 'by phone')
  expect(redeemed).toEqual({
    account_id: id,
    credit_id: expect.stringMatching(/^crd_/),
    amount_usd: 12.5,
    amount_usd_exact: '12.5',
    already: false,
  })
  expect(await place.json('codes', 'redeem', code, '--account', id)).toEqual({ ...redeemed, already: true })
  expect(await place.run('codes', 'redeem', code, '--account', 'acme')).toMatchObject({
    code: 0,
    out: expect.stringContaining('had redeemed it already'),
  })
  expect((await place.run('codes', 'redeem', other, '--account', 'acme')).out).toBe(`$12.500000 is credited to acme (${id}).\n`)
  expect(await place.run('codes', 'redeem', code, '--account', 'second')).toMatchObject({ code: 2, err: 'tollgate: the code was used\n' })
  expect((await place.json<Listed>('accounts', 'list')).data).toMatchObject([{ balance_usd: 0 }, { balance_usd: 25 }])
  const { data } = await place.json<Listed>('audit', 'list', '--account', 'acme')
  expect(data).toContainEqual(expect.objectContaining({ actor: expect.stringMatching(/^os:/), reason: 'by phone' }))
  expect(await place.run('verify')).toMatchObject({ code: 0 })
  const wrong = `${code.slice(0, -1)}${code.endsWith('0') ? '2' : '0'}`
  expect(await place.run('codes', 'redeem', wrong, '--account', 'acme')).toMatchObject({
    code: 2,
    err: 'tollgate: this is no code: compare each character\n',
  })
  expect((await place.run('codes', 'redeem', code, '--account', 'nobody')).code).toBe(2)
  expect((await place.run('codes', 'redeem', code)).code).toBe(2)
})
