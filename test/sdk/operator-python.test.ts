/**
 * A client in Python that is generated from the operator's OpenAPI document makes a key, repeats it, reads it and its requests. `.ci/operator-python` installs the generator.
 * Rules: operator-api.md "Described".
 */

import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { apiClient } from '../support/api-client.ts'
import { startTestGateway } from '../support/gateway.ts'

const PROGRAM = process.env['TOLLGATE_TEST_PYTHON_CLIENT']
if (PROGRAM === undefined)
  console.warn("NOT TRIED: a client in Python for the operator's API (.ci/operator-python installs its generator and runs this file)")

const SCRIPT = `
import json, os
from generated import AuthenticatedClient
from generated.api.books import list_receipts
from generated.api.keys import create_key, get_key, list_keys
from generated.models import NewKey
client = AuthenticatedClient(base_url=os.environ['BASE'], token=os.environ['TOKEN'])
order = NewKey(name='python', expires_in_days=30, limit_usd='2.5')
made = create_key.sync(client=client, body=order, idempotency_key='order-1')
again = create_key.sync(client=client, body=order, idempotency_key='order-1')
key = get_key.sync(made.id, client=client)
rows = list_keys.sync(client=client, limit=1).data
refused = create_key.sync(client=client, body=NewKey(limit_usd='much'))
print(json.dumps([made.secret[:3], made.secret_shown, again.id == made.id, again.secret, again.secret_shown, key.state, key.limit_usd, len(rows),
  len(list_receipts.sync(client=client).data), refused.error.type_]))
`

test.skipIf(PROGRAM === undefined)(
  'generated from the document, it makes a key once and reads it',
  async () => {
    const program = PROGRAM ?? ''
    const gateway = await startTestGateway()
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-python-'))
    const run = async (
      argv: readonly string[],
      env: Record<string, string> = {},
    ): Promise<Readonly<{ code: number; out: string; err: string }>> => {
      const ran = Bun.spawn([...argv], { cwd: folder, env: { ...process.env, ...env }, stdout: 'pipe', stderr: 'pipe' })
      const [out, err] = await Promise.all([new Response(ran.stdout).text(), new Response(ran.stderr).text()])
      return { code: await ran.exited, out, err }
    }
    try {
      const client = await apiClient(gateway)
      await Bun.write(join(folder, 'openapi.json'), await (await fetch(`${gateway.operatorUrl}/api/openapi.json`)).text())
      const made = await run([program, 'generate', '--path', 'openapi.json', '--output-path', 'generated', '--meta', 'none'])
      // Only a statement, whose lines are JSON, has no type there.
      expect([made.code, `${made.out}${made.err}`.match(/WARNING parsing [^\n]*/g)]).toEqual([0, [expect.stringContaining('/statement')]])
      await Bun.write(join(folder, 'use.py'), SCRIPT)
      const env = { BASE: gateway.operatorUrl, TOKEN: client.token }
      const { code, out, err } = await run([join(dirname(program), 'python'), 'use.py'], env)
      expect([code, err]).toEqual([0, ''])
      expect(JSON.parse(out)).toEqual(['sk-', false, true, null, true, 'live', '2.5', 1, 0, 'invalid_request_error'])
    } finally {
      await gateway.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
  120_000,
)
