/** An import whose gateway is killed is there whole or not at all, and the same command then brings what is missing, once. Rules: operator.md "Import"; ledger.md "Twice is once". */

import { beforeAll, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { keyOf, token, user, writeRows } from '../cli/import/one-api.ts'
import { makeFolder } from '../support/ledger.ts'
import { until } from '../support/until.ts'
import { Place, PROCESS_TIMEOUT_MS } from './process.ts'

const TOKENS = 2_000
const theirs = join(makeFolder(), 'theirs.db')
const COMMAND = ['import', 'one-api', '--from', theirs, '--apply', '--source-stopped']

type Check = Readonly<{ ok: boolean; accounts: readonly Readonly<{ then_usd: number }>[]; keys: readonly unknown[] }>
type Moment = (ran: Promise<unknown>, bytes: () => number) => Promise<unknown>

/** When the gateway is killed. */
const moments: readonly (readonly [string, Moment])[] = [
  ['as soon as the command is given', () => Promise.resolve()],
  [
    'when the transaction reaches the disk',
    (_, bytes) => {
      const before = bytes()
      return until(() => bytes() > before + 50_000, 'the import reaches the disk')
    },
  ],
  ['when the command was told that it is done', (ran) => ran],
]

beforeAll(() => {
  const users = Array.from({ length: TOKENS / 2 }, (_, n) => user(n + 1))
  const tokens = Array.from({ length: TOKENS }, (_, n) => token(n + 1, { user_id: Math.floor(n / 2) + 1 }))
  writeRows(theirs, 'one-api', { users, tokens })
})

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

for (const [name, moment] of moments) {
  test(
    `a gateway that is killed ${name} leaves all of an import or nothing`,
    async () => {
      const place = new Place()
      try {
        place.write('tollgate.toml', '[operator]\nport = 0\n')
        const killed = await place.serve()
        const ran = place.run(...COMMAND)
        await moment(ran, () => bytesOf(`${place.ledgerPath}-wal`))
        killed.signal('SIGKILL')
        await killed.exited
        const { code } = await ran
        const gateway = await place.serve()
        const { ok, accounts, keys } = await place.json<Check>('import', '--check')
        expect(ok).toBeTrue()
        // What a command was told is done is there; what is indeterminate is there whole, or not.
        expect(code === 0 ? [TOKENS] : [0, TOKENS]).toContain(keys.length)
        expect(accounts.map(({ then_usd }) => then_usd)).toEqual(Array(keys.length / 2).fill(2))
        const again = await place.json<{ already_here: number }>(...COMMAND)
        expect(again.already_here).toBe(keys.length)
        expect((await place.json<Check>('import', '--check')).keys).toHaveLength(TOKENS)
        for (const secret of [keyOf(1), `sk-${keyOf(TOKENS)}`, `sk-${keyOf(2)}-3`])
          expect([secret, (await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': secret } })).status]).toEqual([secret, 200])
        expect(place.leaked([keyOf(1), keyOf(TOKENS)])).toEqual([])
        await place.verify()
      } finally {
        await place.remove()
      }
    },
    10 * PROCESS_TIMEOUT_MS,
  )
}
