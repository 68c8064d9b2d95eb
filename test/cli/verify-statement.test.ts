/** A statement is checked by nothing but itself: one flipped bit, a row too few or too many, and an end that is missing are named by their line. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nextHash } from '../../src/ledger/chain/chain.ts'
import { placeWithReceipts } from './receipts.ts'
import type { Workplace } from './run.ts'

let place: Workplace
beforeEach(async () => {
  place = (await placeWithReceipts()).place
})
afterEach(() => place.remove())

const statement = async (): Promise<string> => (await place.run('statement', 'app')).out
const check = (text: string) => {
  writeFileSync(join(place.folder, 'statement.jsonl'), text)
  return place.run('verify-statement', 'statement.jsonl')
}

describe('what was done to a statement is named', () => {
  const findings = async (text: string): Promise<string[]> => {
    const { code } = await check(text)
    expect(code).toBe(1)
    const { out } = await place.run('verify-statement', 'statement.jsonl', '--json')
    return (JSON.parse(out) as { data: { where: string }[] }).data.map(({ where }) => where)
  }

  test('any flipped bit: by the line that it is in', async () => {
    const text = await statement()
    const bytes = Buffer.from(text)
    const ends = [...bytes.entries()].filter(([, byte]) => byte === 10).map(([at]) => at)
    for (let at = 5; at < bytes.length - 90; at += 37) {
      const line = ends.filter((end) => end < at).length + 1
      if (bytes[at] === 10) continue
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      // Read as text and not as the command does, so that the byte stays what it is.
      writeFileSync(join(place.folder, 'statement.jsonl'), flipped)
      const { code, out } = await place.run('verify-statement', 'statement.jsonl', '--json')
      const named = (JSON.parse(out) as { data: { where: string }[] }).data.map(({ where }) => where)
      expect([at, code]).toEqual([at, 1])
      const isRow = line > 1 && line < ends.length - 1
      if (isRow) expect([at, named[0]?.startsWith(`line ${line}`)]).toEqual([at, true])
      const rowsNamed = named.filter((where) => where.includes('('))
      if (isRow) expect([at, rowsNamed.filter((where) => !where.startsWith(`line ${line} `))]).toEqual([at, []])
    }
  }, 60_000)

  test('a row that was removed, moved or added; a file that breaks off', async () => {
    const lines = (await statement()).trimEnd().split('\n')
    const without = (index: number) => `${lines.filter((_, at) => at !== index).join('\n')}\n`
    expect(await findings(without(4))).toContain('line 5 (req_3)')
    expect(await findings(without(7))).toContain('line 8')
    const moved = lines.map((line, at) => (at === 3 ? lines[4] : at === 4 ? lines[3] : line)).join('\n')
    expect(await findings(`${moved}\n`)).toEqual(expect.arrayContaining(['line 4 (req_2)', 'line 5 (req_1)']))
    expect(await findings(without(lines.length - 1))).toEqual(['the end'])
    expect(await findings(`${lines.slice(0, 5).join('\n')}\n`)).toEqual(['the end'])
    expect(await findings(`${lines.join('\n')}\n${lines[3]}\n`)).toEqual(['line 11'])
  })

  test('a price that is not its tokens at its rates, also where the hash was made for it', async () => {
    const lines = (await statement()).trimEnd().split('\n')
    const [before, row] = [JSON.parse(lines[6] ?? '') as { hash: string }, lines[7] ?? '']
    const forged = `{${row.slice(75)}`.replace(/"waived_picos":"0"/, '"waived_picos":"1"')
    const hash = nextHash(before.hash, forged).toString('hex')
    lines[7] = `{"hash":"${hash}",${forged.slice(1)}`
    writeFileSync(join(place.folder, 'statement.jsonl'), `${lines.join('\n')}\n`)
    const { out } = await place.run('verify-statement', 'statement.jsonl')
    expect(out).toMatch(/line 8 \(req_5\) +costs \d+ and waives 1, but its tokens at its rates are \d+ picodollars/)
    expect(out).not.toContain('line 8 (req_5)  is not what its hash says')
  })
})
