/** The file of kept answers is bounded, by account and in all, and what goes goes by its age. Rules: requests.md "Kept answers". */

import { Database } from 'bun:sqlite'
import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NotOurs } from '../../db/damage.ts'
import { AnswersFile } from '../../src/answers/answers-file.ts'

const MIB = 1024 * 1024
const HOUR_MS = 3_600_000
const ending: (() => void)[] = []
afterEach(() => {
  for (const end of ending.splice(0).toReversed()) end()
})

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-answers-'))
  ending.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'ledger.db.answers')
}

function open(path: string, bytesMax = 8 * MIB): AnswersFile {
  const file = new AnswersFile(path, bytesMax)
  ending.push(() => file.close())
  return file
}

const named = (text: string): Uint8Array => createHash('sha256').update(text).digest()
const bytesOf = (length: number, fill = 7): Uint8Array => new Uint8Array(length).fill(fill)

function keep(
  file: AnswersFile,
  id: string,
  length: number,
  more: { account?: string; now?: number; items?: readonly string[] } = {},
): boolean {
  const { account = 'acc_1', now = 0, items = [] } = more
  const answer = { name: named(id), accountId: account, expiresAt: now + HOUR_MS, sealed: bytesOf(length), items: items.map(named) }
  return file.keep(answer, now)
}

const isThere = (file: AnswersFile, id: string, now = 0): boolean => typeof file.find(named(id), now) !== 'string'

test('what was kept is found by its name and by those of its items, also by who opens the file next, and its owner alone may', () => {
  const path = place()
  const first = open(path)
  keep(first, 'a', 1_000, { items: ['item 1', 'item 2'] })
  keep(first, 'b', 2_000, { items: ['item 2'] })
  first.close()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const file = open(path)
  const found = (id: string): number | string => {
    const row = file.find(named(id), 0)
    return typeof row === 'string' ? row : row.sealed.byteLength
  }
  expect(['a', 'item 1', 'item 2', 'b', 'c'].map(found)).toEqual([1_000, 1_000, 2_000, 2_000, 'unknown'])
})

test('a file that others may read is its owner’s alone from then on, and so are the log and the index that come beside it', () => {
  const path = place()
  writeFileSync(path, '', { mode: 0o666 })
  chmodSync(path, 0o666)
  keep(open(path), 'a', 10)
  expect(['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777)).toEqual([0o600, 0o600, 0o600])
})

test("an account has an eighth: its own oldest make room, never a neighbour's, and what is larger than that is not kept", () => {
  const file = open(place())
  keep(file, 'neighbour', 100_000, { account: 'acc_2' })
  for (let n = 0; n < 30; n++) expect(keep(file, `a${n}`, 200_000, { items: [`item ${n}`] })).toBe(true)
  const left = Array.from({ length: 30 }, (_, n) => isThere(file, `a${n}`))
  expect([left.lastIndexOf(false), left.indexOf(true)]).toEqual([24, 25])
  expect([file.find(named('a0'), 0), file.find(named('item 0'), 0)]).toEqual(['crowded', 'unknown'])
  expect(isThere(file, 'neighbour')).toBe(true)
  expect(keep(file, 'large', MIB)).toBe(false)
  expect(file.find(named('large'), 0)).toBe('crowded')
  expect(isThere(file, 'a29')).toBe(true)
})

test('the share of an account is known again after the file is opened anew', () => {
  const path = place()
  const first = open(path)
  for (let n = 0; n < 5; n++) keep(first, `a${n}`, 200_000)
  first.close()
  const file = open(path)
  keep(file, 'a5', 200_000)
  expect(['a0', 'a1', 'a5'].map((id) => isThere(file, id))).toEqual([false, true, true])
})

test('however much comes, of whatever size, the file stays within its bound: pages are used again', () => {
  const path = place()
  const file = open(path, 2 * MIB)
  for (let n = 0; n < 3_000; n++) {
    const length = n % 100 === 0 ? 200_000 : 50 + (n % 7) * 500
    keep(file, `a${n}`, length, { account: `acc_${n % 40}`, items: [`item ${n % 9}`] })
    expect(file.bytes).toBeLessThanOrEqual(2 * MIB + 64 * 1024)
  }
  expect(isThere(file, 'a2999')).toBe(true)
  expect(isThere(file, 'a0')).toBe(false)
  file.close()
  expect(statSync(path).size).toBeLessThan(3 * MIB)
})

test('what is over goes: it is not found from then on, and its room is given back to the disk', () => {
  const path = place()
  const file = open(path)
  for (let n = 0; n < 200; n++) keep(file, `a${n}`, 20_000, { account: `acc_${n}` })
  expect(isThere(file, 'a0', HOUR_MS - 1)).toBe(true)
  expect(file.find(named('a0'), HOUR_MS)).toBe('expired')
  while (file.prune(HOUR_MS));
  expect(file.bytes).toBeLessThan(200_000)
  expect(file.find(named('a0'), HOUR_MS)).toBe('expired')
  file.close()
  expect(statSync(path).size).toBeLessThan(200_000)
})

test('a file that is opened with less room gives up its oldest', () => {
  const path = place()
  const first = open(path, 8 * MIB)
  for (let n = 0; n < 200; n++) keep(first, `a${n}`, 20_000, { account: `acc_${n}` })
  first.close()
  const file = open(path, MIB)
  while (file.prune(0));
  expect(file.bytes).toBeLessThanOrEqual(MIB)
  expect([isThere(file, 'a0'), isThere(file, 'a199')]).toEqual([false, true])
})

test('a file that is none of ours is refused and stays as it is', () => {
  const path = place()
  const other = new Database(path, { create: true })
  other.run('CREATE TABLE theirs (a)')
  other.close()
  expect(() => new AnswersFile(path, MIB)).toThrow(NotOurs)
  writeFileSync(path, 'no database at all, but long enough to be looked at as one'.repeat(100))
  expect(() => new AnswersFile(path, MIB)).toThrow()
})
