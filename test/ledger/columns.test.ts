/** A column of a receipt stands once, in db/facts: what is generated from it is what is checked in, and the tables and the function of Postgres that migrations made have the same. */

import { expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import { getTableConfig } from 'drizzle-orm/sqlite-core'
import type { Column } from '../../db/facts/column.ts'
import { generated } from '../../db/facts/generate.ts'
import { RECEIPT, RECEIPT_CHAIN } from '../../db/facts/receipts.ts'
import { BESIDE_RECEIPTS, SETTLE_FUNCTION } from '../../db/facts/settle.ts'
import { writeChain } from '../../db/facts/write-chain.ts'
import { listColumns, writeRow } from '../../db/facts/write-row.ts'
import { receipts } from '../../db/schema/requests.ts'
import { JsonBytes } from '../../src/core/bytes/json-bytes.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { ReceiptFacts } from '../../src/ledger/columns/receipt.ts'
import * as real from '../../src/ledger/columns/receipt.ts'

test('what is checked in is what `bun run generate` writes', async () => {
  for (const { path, text } of generated()) {
    if ((await Bun.file(path).text()) !== text) throw new Error(`${path} is not what is generated: \`bun run generate\``)
  }
})

const SQL_TYPE: Readonly<Partial<Record<Column['kind'], string>>> = { text: 'text', hash: 'blob' }

test('a column of the table is described, with its type and whether it may be null', () => {
  const made = getTableConfig(receipts).columns.map((column) => [column.name, column.getSQLType(), column.notNull])
  const described = RECEIPT.map(({ column, kind, isNullable }) => [column, SQL_TYPE[kind] ?? 'integer', isNullable !== true])
  // The row's own number, and the lane of the node that writes it, are nothing that a receipt says.
  expect(made.filter(([name]) => name !== 'number' && name !== 'lane').sort()).toEqual(described.sort())
})

test('Postgres’ function takes and writes the columns in this order', async () => {
  const paths = [...new Glob('db/postgres/migrations/*.sql').scanSync('.')].sort()
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()))
  const body = texts.join('\n').split(`CREATE FUNCTION ${SETTLE_FUNCTION}(`)[1]?.split('END $$')[0] ?? ''
  const parameters = body.split(') RETURNS')[0] ?? ''
  const types = [...parameters.matchAll(/\b(?:BIGINT|TEXT|BYTEA)\[\]/g)].map(([type]) => type)
  expect(types).toEqual([...listColumns(RECEIPT), ...BESIDE_RECEIPTS].map(({ type }) => `${type}[]`))
  const written = /INSERT INTO receipts \(([^)]*)\)/.exec(body)?.[1]?.split(/,\s*/)
  expect(written).toEqual([...RECEIPT.map(({ column }) => column), 'lane'])
})

test('the console’s document of a receipt has what operators alone are shown', async () => {
  const text = await Bun.file('src/web/api/console-documents.ts').text()
  const shown = text.split('ofOperators = (')[1]?.split('\n})')[0] ?? ''
  const names = RECEIPT.filter(({ shownTo }) => shownTo === 'operators').map(({ column, documentedAs }) =>
    column.startsWith('upstream_') ? 'upstream' : (documentedAs ?? column.replace('_picos', '_usd')),
  )
  expect(names.filter((name) => !shown.includes(`  ${name}: `))).toEqual([])
})

test('a time that a later column measures is rounded, or null where none was measured', async () => {
  const later = { column: 'queued_ms', kind: 'ms', from: 'settle', isNullable: true, isOptional: true, shownTo: 'none' } as const
  const path = join(mkdtempSync(join(tmpdir(), 'columns-')), 'row.ts')
  await Bun.write(path, `const wholeMs = Math.round; const thousandths = () => null\n${writeRow([...RECEIPT, later])}`)
  const { roundedReceipt } = (await import(path)) as { roundedReceipt(given: object, day: number, cost: object): object }
  expect(roundedReceipt({ firstByteMs: null, durationMs: 3, queuedMs: 1.6 }, 1, {})).toMatchObject({ queuedMs: 2, firstByteMs: null })
  expect(roundedReceipt({ firstByteMs: 1.2, durationMs: 3 }, 1, {})).toMatchObject({ queuedMs: null, firstByteMs: 1 })
})

test('a column of a later version is in the text of those rows alone that have it, and what is private only grows', async () => {
  const later = { kind: 'text', from: 'settle', isNullable: true, isOptional: true, shownTo: 'none' } as const
  const columns = [...RECEIPT, { ...later, column: 'open_text' }, { ...later, column: 'secret_text' }]
  const text = writeChain(columns, [...RECEIPT_CHAIN, { public: ['open_text'], private: ['secret_text'] }])
  const path = join(mkdtempSync(join(tmpdir(), 'columns-')), 'receipt.ts')
  await Bun.write(path, text)
  const written = (await import(path)) as typeof import('../../src/ledger/columns/receipt.ts')
  const bytes = new Uint8Array()
  const given = { requestId: 'r', usage: NO_USAGE, format: 'chat', outcome: 'cut', usageSource: 'none' } as never
  const textOf = (from: typeof written, facts: unknown) =>
    from.writeReceiptText(new JsonBytes(), facts as ReceiptFacts, bytes, 'k', bytes, 's').toString()
  const facts = (more: object) => written.factsOfGiven({ ...(given as object), ...more } as never, {} as never, 1)
  expect(textOf(written, facts({}))).toBe(textOf(real, real.factsOfGiven(given, {} as never, 1)))
  expect(textOf(written, facts({ openText: 'o' }))).toMatch(/^\{"v":2,.*,"open_text":"o","private":"s"\}$/)
  expect(textOf(written, facts({ secretText: 'x' }))).toMatch(/^\{"v":2,/)
  expect(written.privateOfGiven(given, 'boot', {} as never)).toEqual(real.privateOfGiven(given, 'boot', {} as never))
  expect(written.privateOfGiven({ ...(given as object), secretText: 'x' } as never, 'boot', {} as never).slice(5)).toEqual([
    'boot',
    null,
    null,
    'x',
  ])
})
