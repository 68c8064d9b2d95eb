/**
 * A ledger that cannot be trusted or made: the gateway and the commands refuse it with 3, say what to do, and leave it as it was.
 * Rules: ledger.md "Files"; operator.md "Commands".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  // With it `serve` does not replace the process by itself, which here would be the tests.
  place.env = { BUN_CONFIG_MAX_HTTP_REQUESTS: '1000' }
})
afterEach(() => place.remove())

test('a ledger that cannot be trusted or made is refused with 3 and what to do, by the gateway and by commands, and stays as it was', async () => {
  await place.json('keys', 'create', '--balance', '100')
  const sound = join(place.folder, 'sound.db')
  copyFileSync(place.ledgerPath, sound)
  const make = (name: string, change: (path: string) => void): string => {
    const path = join(place.folder, name)
    copyFileSync(sound, path)
    change(path)
    return path
  }
  const damage = (path: string): void => {
    const bytes = readFileSync(path)
    bytes.fill(0xa5, 4_096 * 2, 4_096 * 12)
    writeFileSync(path, bytes)
  }
  const upgrade = (path: string): void => {
    const db = new Database(path)
    db.run('PRAGMA user_version = 99')
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
  }
  const lost = make('lost.db', (path) => {
    rmSync(path)
    writeFileSync(`${path}-wal`, 'frames of a ledger that is gone')
  })
  const damaged = make('damaged.db', damage)
  const cases: readonly (readonly [path: string, hint: string])[] = [
    [damaged, 'restore a backup'],
    [make('truncated.db', (path) => truncateSync(path, 20_000)), 'restore a backup'],
    [make('foreign.db', (path) => writeFileSync(path, 'somebody’s notes\n'.repeat(1_000))), 'restore a backup'],
    [make('empty.db', (path) => writeFileSync(path, '')), 'restore a backup'],
    [make('newer.db', upgrade), 'use a newer program'],
    [lost, 'put the file back'],
    [join(sound, 'tollgate.db'), 'cannot be opened'],
    ['/proc/tollgate/tollgate.db', 'cannot be opened'],
  ]
  const refuse = async (path: string, hint: string, ...command: readonly string[]): Promise<void> => {
    place.write('tollgate.toml', `[operator]\nport = 0\n[ledger]\npath = "${path}"\n`)
    const { code, out, err } = await place.run(...command)
    expect({ command, path, code, out }).toEqual({ command, path, code: 3, out: '' })
    expect(err).toStartWith('tollgate: ')
    expect(err).toContain(path)
    expect(err).toContain(hint)
  }
  for (const [path, hint] of cases) {
    const before = await contentOf(path)
    await refuse(path, hint, 'serve', '--port', '0')
    expect(await contentOf(path)).toBe(before)
  }
  await refuse(damaged, 'restore a backup', 'keys', 'create')
  await refuse(join(sound, 'tollgate.db'), 'cannot be opened', 'keys', 'create')

  place.write('tollgate.toml', `[ledger]\npath = "${damaged}"\n`)
  // Damage that can still be read around is a finding.
  const verified = await place.run('verify')
  expect([1, 3]).toContain(verified.code)
  expect(verified.err).not.toContain('\n    at ')
  expect(await place.run('doctor')).toMatchObject({ code: 1, err: '', out: expect.stringMatching(/ledger +problem/) })
})

test('where no ledger can be, doctor says so', async () => {
  await place.json('keys', 'create')
  place.write('file', '')
  place.write('tollgate.toml', `[ledger]\npath = "file/tollgate.db"\n`)
  expect(await place.run('doctor')).toMatchObject({ code: 1, out: expect.stringMatching(/disk +problem +nothing can be written/) })
})

const contentOf = (path: string): Promise<string | undefined> =>
  Bun.file(path)
    .bytes()
    .then(
      (bytes) => Bun.hash(bytes).toString(),
      () => undefined,
    )
