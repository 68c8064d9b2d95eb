/** A probe of an upstream says which settings it needs, and asks for nothing before its price was said. Rules: operator.md "Commands"; native.md "Other servers". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import { Workplace } from './run.ts'

let place: Workplace
const servers: ReturnType<typeof Bun.serve>[] = []
beforeEach(() => {
  place = new Workplace()
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
  place.remove()
})

type Document = Readonly<{ data: readonly { check: string; found: string; setting: string }[]; settings: readonly string[] }>

/** A simulator behind `change`, which may answer in its stead. */
function serve(change: (request: Request, text: string) => Response | undefined = () => undefined): { url: string; calls: string[] } {
  const simulator = makeSimulator({ tokensPerSecond: 0 })
  const calls: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text()
      calls.push(new URL(request.url).pathname)
      return change(request, text) ?? simulator(new Request(request.url, { method: 'POST', headers: request.headers, body: text }))
    },
  })
  servers.push(server)
  return { url: server.url.href, calls }
}

const error = (status: number, message: string) =>
  Response.json({ type: 'error', error: { type: 'invalid_request_error', message } }, { status })

const configure = (url: string): void => place.write('tollgate.toml', configuration(url))

const configuration = (url: string): string =>
  `[[upstreams]]\nname = "north"\nbase_url = "${url}"\n[[models]]\nid = "opus"\nupstream_model = "vendor-opus"\ninput = "3"\noutput = "15"\ncontext_window = 100000\nmax_output_tokens = 100\n`

test('nothing is called before its price was said and agreed to', async () => {
  const { url, calls } = serve()
  configure(url)
  const { code, err } = await place.run('upstreams', 'probe', 'north')
  expect([code, calls]).toEqual([2, []])
  expect(err).toMatch(/7 calls of vendor-opus at north, which cost at most \$0\.00\d+ in all\n.*--yes/)
})

test('a server that speaks as the vendor does needs no setting', async () => {
  const { url, calls } = serve()
  configure(url)
  const { data, settings } = await place.json<Document>('upstreams', 'probe', 'north', '--yes')
  expect(settings).toEqual([])
  expect(Object.fromEntries(data.map(({ check, found }) => [check, found]))).toMatchObject({
    count_tokens: expect.stringMatching(/^counts \d+$/),
    stream: 'usage of the input at the beginning',
    tools: 'calls: 1; stop_reason "tool_use"',
    versions: 'takes 2026-10-21',
    errors: expect.stringMatching(/^without messages: status 400: /),
  })
  expect(calls).toHaveLength(7)
  expect((await place.run('upstreams', 'probe', 'north', '--yes')).out).toContain('It needs no setting of its own.')
})

test('each way of another server is found, with the line that it needs', async () => {
  const { url } = serve((request, text) => {
    if (request.url.endsWith('count_tokens')) return error(404, 'no such path')
    if (request.headers.get('anthropic-version') === '2026-10-21') return error(400, 'unsupported version')
    if (request.headers.has('anthropic-beta')) return error(400, 'invalid beta flag')
    if (text.includes('"stream":true'))
      return new Response('event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":0}}}\n\n', {
        headers: { 'content-type': 'text/event-stream' },
      })
    if (!text.includes('messages')) return undefined
    return Response.json({
      type: 'message',
      model: 'tiny.gguf',
      content: [],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    })
  })
  configure(url)
  const { data, settings } = await place.json<Document>('upstreams', 'probe', 'north', '--model', 'opus', '--yes')
  expect(settings).toEqual(['echo = "any"', 'count_tokens = "estimate"', 'versions = "no"', 'betas = "no"'])
  const found = data.map((one) => one.found)
  expect(found).toContain('usage 3 in, 2 out; no cache counters')
  expect(found).toContain('answers with model "tiny.gguf"')
  expect(found).toContain('usage of the input only at the end; without message_stop, a stop reason, usage at the end')
  expect(found).toContain('calls: 0; stop_reason "end_turn"')
})

test('a server that gives no answer is asked for nothing else, and a busy moment makes no setting', async () => {
  const { url, calls } = serve(() => error(529, 'overloaded'))
  configure(url)
  const { code, out } = await place.run('upstreams', 'probe', 'north', '--yes')
  expect([code, calls.length]).toEqual([1, 1])
  expect(out).toContain('north gives no answer (status 529)')
  const busy = serve((request) =>
    request.headers.has('anthropic-beta') || request.url.endsWith('count_tokens') ? error(429, 'later') : undefined,
  )
  configure(busy.url)
  expect((await place.json<Document>('upstreams', 'probe', 'north', '--yes')).settings).toEqual([])
})

test('an upstream or a model that is not there is wrong use', async () => {
  configure('http://127.0.0.1:1')
  expect(await place.run('upstreams', 'probe', 'south', '--yes')).toMatchObject({ code: 2, err: 'tollgate: no upstream is named south\n' })
  const other = await place.run('upstreams', 'probe', 'north', '--model', 'sonnet', '--yes')
  expect(other).toMatchObject({ code: 2, err: 'tollgate: north does not serve sonnet\n' })
})

test('a probe needs the secrets of its own upstream, and those of nothing else', async () => {
  const { url, calls } = serve()
  place.write(
    'tollgate.toml',
    `${configuration(`${url}"\napi_key_env = "NORTH_KEY`)}[[upstreams]]\nname = "south"\nbase_url = "${url}"\napi_key_env = "SOUTH_KEY"\n[payments.stripe]\nsecret_key_env = "STRIPE"\nwebhook_secret_env = "HOOK"\n`,
  )
  const without = await place.run('upstreams', 'probe', 'north', '--yes')
  expect([without.code, calls]).toEqual([2, []])
  expect(without.err).toContain('NORTH_KEY, which is not set')
  expect(without.err).not.toMatch(/SOUTH_KEY|STRIPE|HOOK/)
  place.env = { NORTH_KEY: 'secret' }
  expect((await place.run('upstreams', 'probe', 'north', '--yes')).code).toBe(0)
  expect(calls).toHaveLength(7)
})

test('a server that speaks chat is not asked in the native format', async () => {
  configure('http://127.0.0.1:1/v1"\nkind = "openai')
  const { code, err } = await place.run('upstreams', 'probe', 'north', '--yes')
  expect([code, err]).toEqual([2, expect.stringContaining('tollgate doctor --calls')])
})
