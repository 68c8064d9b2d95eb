/** What `tollgate doctor` learns by calling upstreams: a wrong key, a wrong path, an unknown model, a server that is none. Rules: operator.md "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Workplace } from './run.ts'

type Finding = { check: string; status: string; detail: string }
type Server = ReturnType<typeof Bun.serve>

let place: Workplace
const servers: Server[] = []
beforeEach(async () => {
  place = new Workplace()
  await place.json('keys', 'create')
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
  place.remove()
})

type Call = Readonly<{ path: string; headers: Headers; body: { model?: string; max_tokens?: number; messages?: unknown } }>

/** Answers what `answer` says, and keeps what it was asked. */
function serve(answer: (call: Call) => Response): Readonly<{ url: string; calls: readonly Call[] }> {
  const calls: Call[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const call = { path: new URL(request.url).pathname, headers: request.headers, body: (await request.json()) as Call['body'] }
      calls.push(call)
      return answer(call)
    },
  })
  servers.push(server)
  return { url: server.url.href.slice(0, -1), calls }
}

const error = (status: number, type: string, message: string) => Response.json({ type: 'error', error: { type, message } }, { status })
const usage = (input: number, output: number) => Response.json({ type: 'message', usage: { input_tokens: input, output_tokens: output } })

const COUNT = '/v1/messages/count_tokens'
/** A vendor's server, which knows one key and one model. */
const vendor = ({ path, headers, body }: Call): Response => {
  if (headers.get('x-api-key') !== 'right') return error(401, 'authentication_error', `invalid x-api-key: ${headers.get('x-api-key')}`)
  if (path !== COUNT && path !== '/v1/messages') return error(404, 'not_found_error', 'Not found')
  if (body.model !== 'vendor-1') return error(404, 'not_found_error', `model: ${body.model}`)
  if (body.messages === undefined) return error(400, 'invalid_request_error', 'messages: Field required')
  return path === COUNT ? Response.json({ input_tokens: 8 }) : usage(8, 1)
}

const upstream = (name: string, url: string, more = '') => `[[upstreams]]\nname = "${name}"\nbase_url = "${url}"\n${more}\n`
const model = (id: string, upstreams: readonly string[]) =>
  `[[models]]\nid = "${id}"\nupstream_model = "${id}"\nupstreams = ${JSON.stringify(upstreams)}\ninput = "3"\noutput = "15"\ncontext_window = 1000\nmax_output_tokens = 100\n`

async function examine(toml: string, ...argv: string[]) {
  place.write('tollgate.toml', toml)
  place.env = { RIGHT: 'right', WRONG: 'wrong-key-1234' }
  const { code, out, err } = await place.run('doctor', ...argv, '--json')
  const { data } = JSON.parse(out) as { data: Finding[] }
  return { code, err, found: data.filter(({ check }) => check.startsWith('upstream')).map(({ status, detail }) => [status, detail]) }
}

test('what is wrong with each upstream and model is told apart, and what works costs nothing', async () => {
  const { url, calls } = serve(vendor)
  const right = 'api_key_env = "RIGHT"'
  const both = model('vendor-1', ['a']) + model('vendor-2', ['a'])
  expect(await examine(upstream('a', url, right) + both)).toEqual({
    code: 1,
    err: '',
    found: [
      ['ok', 'vendor-1: knows the model'],
      ['problem', 'vendor-2: does not know the model (404: model: vendor-2)'],
    ],
  })
  expect(calls.map(({ path, body }) => [path, body.max_tokens])).toEqual([
    [COUNT, undefined],
    [COUNT, undefined],
  ])
  const one = model('vendor-1', ['a'])
  expect((await examine(upstream('a', url, 'api_key_env = "WRONG"') + one)).found).toEqual([
    ['problem', 'vendor-1: refuses the key (401: invalid x-api-key: ***)'],
  ])
  const twice = await examine(upstream('a', `${url}/v1/v1`, right) + one)
  expect([twice.code, twice.found]).toEqual([1, [['problem', `404 for ${url}/v1/v1/messages: base_url is what stands before /v1`]]])
  expect((await examine(upstream('a', url, right) + upstream('b', url, right) + one)).found.at(-1)).toEqual(['warning', 'serves no model'])
  expect((await examine(upstream('a', 'http://127.0.0.1:1') + both)).found).toEqual([
    ['problem', expect.stringMatching(/^http:\/\/127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)$/)],
  ])
  expect((await examine(upstream('a', 'http://127.0.0.1:1') + both, '--no-network')).found).toEqual([])
})

test('what an upstream repeats of our key and of its own headers is not shown, where its words are cut neither', async () => {
  for (const before of [0, 170, 180, 190, 195]) {
    const echo = serve(({ headers }) =>
      error(401, 'authentication_error', `${'x'.repeat(before)} ${headers.get('x-api-key')} ${headers.get('x-team')}`),
    )
    const toml = upstream('a', echo.url, 'api_key_env = "WRONG"\nheaders = { "x-team" = "team-pass-1234" }') + model('m', ['a'])
    const { found } = await examine(toml)
    expect(found).toHaveLength(1)
    expect(JSON.stringify(found)).not.toMatch(/wrong-|team-/)
  }
})

test('a server of another kind, one without counts, a busy one and one that counts nothing', async () => {
  const html = serve(() => new Response('<html>', { headers: { 'content-type': 'text/html' } }))
  const bare = serve(({ path, body }) =>
    path === COUNT ? new Response('', { status: 404 }) : error(body.messages ? 500 : 400, 'invalid_request_error', ''),
  )
  const busy = serve(() => error(429, 'rate_limit_error', 'slow\u001b[31m\u009b\u007f\u202e down'))
  const zero = serve(() => Response.json({ input_tokens: 0 }))
  const moved = serve(() => new Response(null, { status: 307, headers: { location: 'http://127.0.0.1:1/' } }))
  const [pages, noCount, slow, nothing, away] = [html, bare, busy, zero, moved].map(({ url }) => upstream('a', url) + model('m', ['a']))
  expect((await examine(pages ?? '')).found).toEqual([['problem', expect.stringContaining('m: answers 200, but not in the native format')]])
  expect(await examine(noCount ?? '')).toMatchObject({ code: 0, found: [['warning', expect.stringContaining('m: has no count_tokens')]] })
  expect((await examine(slow ?? '')).found).toEqual([['warning', 'm: is busy (429: slow\u001b[31m\u009b\u007f\u202e down)']])
  expect((await examine(nothing ?? '')).found).toEqual([['warning', 'm: counts 0 tokens for a word: its usage is estimated']])
  expect((await examine(away ?? '')).found).toEqual([['problem', 'm: answers 307']])
})

test('--calls says its price first, then asks for one token of each model', async () => {
  const { url, calls } = serve(vendor)
  const toml = upstream('a', url, 'api_key_env = "RIGHT"') + model('vendor-1', ['a'])
  const { code, err, found } = await examine(toml, '--calls')
  expect([code, found]).toEqual([0, [['ok', 'vendor-1: answers (8 tokens in, 1 out)']]])
  expect(err).toBe('tollgate: calls for one token: 1, which cost at most $0.000252 in all\n')
  expect(calls.map(({ path, body }) => [path, body.max_tokens])).toEqual([
    [COUNT, undefined],
    ['/v1/messages', 1],
  ])
  const liar = serve(({ path }) => (path === COUNT ? Response.json({ input_tokens: 8 }) : usage(0, 0)))
  expect((await examine(upstream('a', liar.url) + model('m', ['a']), '--calls')).found).toEqual([
    ['warning', 'm: answers, but reports no usage that can be true: it is estimated'],
  ])
  expect(await place.run('doctor', '--calls', '--no-network')).toMatchObject({ code: 2 })
})

test('settings that the upstream contradicts are named', async () => {
  const own = serve(({ path }) =>
    path === COUNT
      ? Response.json({ input_tokens: 8 })
      : Response.json({ model: 'tiny.gguf', usage: { input_tokens: 8, output_tokens: 1 } }),
  )
  const bare = serve(({ path, body }) =>
    path === COUNT
      ? error(404, 'not_found_error', 'Not found')
      : body.messages === undefined
        ? error(400, 'invalid_request_error', 'messages')
        : usage(8, 1),
  )
  const found = async (url: string, more: string, ...argv: string[]) =>
    (await examine(upstream('own', url, more) + model('vendor-1', ['own']), ...argv)).found
  expect(await found(own.url, 'count_tokens = "no"')).toEqual([
    ['warning', expect.stringContaining('counts tokens, but count_tokens = "no"')],
  ])
  expect(await found(bare.url, 'count_tokens = "estimate"')).toEqual([['ok', 'vendor-1: knows the model']])
  expect(await found(own.url, '', '--calls')).toEqual([['warning', expect.stringContaining('answers with model "tiny.gguf"')]])
  expect(await found(own.url, 'echo = "fail"', '--calls')).toEqual([['problem', expect.stringContaining('each answer fails')]])
  expect(await found(own.url, 'echo = "any"', '--calls')).toEqual([['ok', expect.stringContaining('answers (8 tokens in')]])
})

test('a server that speaks chat is asked in chat: whether it has the path and the key, and with --calls for one token', async () => {
  const desk = ({ path, headers, body }: Call): Response => {
    if (path !== '/v1/chat/completions') return Response.json({ error: { message: 'File Not Found' } }, { status: 404 })
    if (headers.get('authorization') !== 'Bearer right') return Response.json({ error: { message: 'no' } }, { status: 401 })
    if (body.messages === undefined) return Response.json({ error: { message: "'messages' is required" } }, { status: 400 })
    return Response.json({ model: 'm', choices: [], usage: { prompt_tokens: 8, completion_tokens: body.max_tokens } })
  }
  const { url, calls } = serve(desk)
  const kind = 'kind = "openai"\n'
  const right = upstream('desk', `${url}/v1`, `${kind}api_key_env = "RIGHT"`) + model('m', ['desk'])
  expect(await examine(right)).toMatchObject({ found: [['ok', 'm: knows the model']] })
  expect(await examine(right, '--calls')).toMatchObject({ found: [['ok', 'm: answers (8 tokens in, 1 out)']] })
  expect(calls.some(({ headers }) => headers.has('anthropic-version') || headers.has('x-api-key'))).toBe(false)
  const wrong = upstream('desk', `${url}/v1`, `${kind}api_key_env = "WRONG"`) + model('m', ['desk'])
  expect((await examine(wrong)).found).toEqual([['problem', 'm: refuses the key (401: no)']])
  const astray = upstream('desk', url, `${kind}api_key_env = "RIGHT"`) + model('m', ['desk'])
  expect((await examine(astray)).found).toEqual([
    ['problem', `404 for ${url}/chat/completions: base_url is what stands before it, its /v1 included`],
  ])
})
