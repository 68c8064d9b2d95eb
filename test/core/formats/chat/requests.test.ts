/**
 * Pairs of whole requests: test/requests/<case>/chat.json becomes native.json. `model.json` names what the model rejects. `GOLDEN=write bun test` rewrites
 * the native bodies. Numbers are compared letter by letter.
 */

import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseExact } from '../../../../src/core/bytes/exact-json.ts'
import { accepted } from './chat-call.ts'

const REQUESTS = join(import.meta.dir, '../../../requests')
const text = (path: string): string => readFileSync(path, 'utf8')

const cases = readdirSync(REQUESTS)
  .map((name) => ({ name, folder: join(REQUESTS, name) }))
  .filter(({ folder }) => existsSync(join(folder, 'chat.json')))

describe('whole chat requests', () => {
  test.each(cases)('$name', ({ folder }) => {
    const model = join(folder, 'model.json')
    const rejects = existsSync(model) ? JSON.parse(text(model)).rejects : []
    const body = parseExact(Buffer.from(accepted(JSON.parse(text(join(folder, 'chat.json'))), rejects).body).toString('utf8'))
    const path = join(folder, 'native.json')
    if (process.env['GOLDEN'] === 'write') writeFileSync(path, `${JSON.stringify(body, null, 2)}\n`)
    expect(JSON.stringify(body)).toBe(JSON.stringify(parseExact(text(path))))
  })
})
