/**
 * The compiled program proves its calls to clouds: what it loads for that only when it is needed is inside it. Nothing leaves the machine. Rules: doors.md "Signatures",
 * "Tokens".
 */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { makeSimulatedDoor } from '../../src/simulator/doors/door.ts'
import type { SimulatedKind } from '../../src/simulator/doors/kinds.ts'
import { post } from './load.ts'
import { Place, PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

const AWS_KEY = { id: 'AKIDOFTHECHAIN', secret: 'aws-secret-2b7e51' }
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const GOOGLE_KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

function simulate(kind: SimulatedKind) {
  const simulator = makeSimulatedDoor({ kind, tokensPerSecond: 0, awsKey: AWS_KEY })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: simulator })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}

const modelOf = (upstream: string): string =>
  `[[models]]\nid = "by-${upstream}"\nupstreams = ["${upstream}"]\ninput = "1"\noutput = "1"\ncontext_window = 200000\nmax_output_tokens = 1000\n`

test('a call is signed with credentials that AWS’s chain finds, another carries a token that a service account got', async () => {
  using aws = simulate('bedrock-invoke')
  using google = simulate('vertex')
  const place = new Place()
  try {
    place.write(
      'tollgate.toml',
      `[operator]\nport = 0\n
[[upstreams]]\nname = "aws"\nkind = "bedrock-invoke"\nregion = "us-east-1"\nbase_url = "${aws.url}"\ncredentials = "default"\n
[[upstreams]]\nname = "google"\nkind = "vertex"\nproject = "p"\nlocation = "global"\nbase_url = "${google.url}"
service_account_env = "GOOGLE_KEY"\ntoken_url = "${google.url}/token"\n
${modelOf('aws')}${modelOf('google')}[plans.default]\nmodels = ["*"]\n`,
    )
    const gateway = await place.serve({
      env: {
        // The chain looks here first, and then at nothing else.
        AWS_ACCESS_KEY_ID: AWS_KEY.id,
        AWS_SECRET_ACCESS_KEY: AWS_KEY.secret,
        AWS_EC2_METADATA_DISABLED: 'true',
        HOME: place.folder,
        GOOGLE_KEY: JSON.stringify({ client_email: 'a@b', private_key: GOOGLE_KEY }),
      },
    })
    const { key } = await place.createKey()
    for (const name of ['aws', 'google']) {
      for (const stream of [false, true]) {
        const body = { model: `by-${name}`, max_tokens: 50, stream, messages: [{ role: 'user', content: '[sim say=Hello]' }] }
        const answer = await post(gateway.url, '/v1/messages', key, body)
        const text = await answer.text()
        expect([name, stream, answer.status, text]).toEqual([name, stream, 200, expect.stringContaining('Hello')])
        if (stream) expect(text).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
      }
    }
    const { data } = await place.json<{ data: { model: string; requests: number }[] }>('usage')
    expect(data.map(({ model, requests }) => `${model} ${requests}`).sort()).toEqual(['by-aws 2', 'by-google 2'])
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect(place.leaked([AWS_KEY.secret, GOOGLE_KEY.slice(100, 160)])).toEqual([])
  } finally {
    await place.remove()
  }
})
