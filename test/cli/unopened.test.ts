/** A start and a command that get too few connections of Postgres, whichever of them is the first that is missing: they say so and end. Rules: operator.md "Commands". */

import { afterEach, beforeEach, expect, setDefaultTimeout } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { asking, throughPort } from '../support/nodes.ts'
import { isPostgresRunning, postgres, postgresTest } from '../support/postgres.ts'
import { createPostgresLedger } from '../support/postgres-connection.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { Workplace } from './run.ts'

setDefaultTimeout(180_000)

const PROGRAM = join(import.meta.dir, '../../src/main.ts')
const KEY = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')

let place: Workplace
let admin: ReturnType<typeof asking>
let url: string
const role = `few_${crypto.randomUUID().replaceAll('-', '')}`
beforeEach(async () => {
  place = new Workplace()
  place.write(
    'tollgate.toml',
    '[server]\nport = 0\n[operator]\nport = 0\n[ledger]\nurl_env = "LEDGER_URL"\nstatement_key_env = "STATEMENT_KEY"\nnode = "n"\n',
  )
  if (!isPostgresRunning) return
  const owned = await createPostgresLedger()
  admin = asking(postgres().asSuperuser(owned))
  const address = new URL(owned)
  await admin.ask(`CREATE ROLE ${role} LOGIN PASSWORD '${address.password}' IN ROLE tollgate`)
  address.username = role
  url = address.href
})
afterEach(async () => {
  place.remove()
  if (!isPostgresRunning) return
  await admin.ask(`DROP ROLE ${role}`)
  await admin.close()
})

const begun = (address: string, ...args: readonly string[]) =>
  Bun.spawn([process.execPath, PROGRAM, ...args], {
    cwd: place.folder,
    env: { PATH: process.env['PATH'], LEDGER_URL: address, STATEMENT_KEY: KEY },
    stdout: 'pipe',
    stderr: 'pipe',
  })

/** With more and more connections, until there are enough; gives what it said each time before. */
async function refusals(args: readonly string[], isServing: boolean): Promise<readonly string[]> {
  const said: string[] = []
  for (let connections = 0; ; connections++) {
    await admin.ask(`ALTER ROLE ${role} CONNECTION LIMIT ${connections}`)
    const program = begun(url, ...args)
    const output = program.stdout.getReader()
    const { value, done } = await output.read()
    if (!done) {
      if (isServing) program.kill()
      expect(new TextDecoder().decode(value)).toContain(isServing ? 'listening on' : 'acc_')
      expect(await program.exited).toBe(0)
      return said
    }
    expect(await program.exited).toBe(3)
    said.push(await new Response(program.stderr).text())
  }
}

const CONNECTIONS = ['opens', 'node', 'writes', 'listens'] as const

postgresTest('serve ends with its exit code, whichever of its connections leads nowhere', async () => {
  const codes = CONNECTIONS.map(async (what) => {
    const way = await tcpProxy(postgres().port)
    try {
      const words = `tollgate n ${what}`
      way.lose({ text: words, from: 'client', of: words })
      return await begun(throughPort(url, way.port), 'serve').exited
    } finally {
      way.close()
    }
  })
  expect(await Promise.all(codes)).toEqual(CONNECTIONS.map(() => 3))
})

for (const [name, args, isServing] of [
  ['serve', ['serve'], true],
  ['a command that writes', ['accounts', 'create', 'Ada'], false],
] as const) {
  postgresTest(`${name} ends with its exit code, whichever connection it does not get`, async () => {
    const said = await refusals(args, isServing)
    expect(said.length).toBeGreaterThan(1)
    for (const text of said) expect(text).toContain(`too many connections for role "${role}"`)
  })
}
