/** `tollgate simulate`: the simulator as an upstream of its own, until a signal. Rules: faults.md "Simulator"; operator.md "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { runCli } from '../../src/cli/program.ts'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

test('it listens where it says, answers in the native format, and stops on a signal', async () => {
  const { promise: line, resolve } = Promise.withResolvers<string>()
  const ended = runCli(['simulate', '--port', '0'], place.environment(resolve, resolve))
  const [, url] = /^tollgate simulator listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(await line) ?? []
  const body = JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body })
  expect(await response.json()).toMatchObject({ type: 'message', role: 'assistant' })
  process.emit('SIGTERM')
  expect(await ended).toBe(0)
})

test('under a name and a key it shows the one and asks for the other; its faults are set and taken back while it runs', async () => {
  const { promise: line, resolve } = Promise.withResolvers<string>()
  const ended = runCli(['simulate', '--port', '0', '--name', 'north', '--key', 'sk-north'], place.environment(resolve, resolve))
  const [, url] = /^tollgate simulator north listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(await line) ?? []
  const ask = (path: string, method: string, body: string | undefined, key = 'sk-north') =>
    fetch(`${url}${path}`, { method, headers: { 'x-api-key': key }, ...(body === undefined ? {} : { body }) })
  const prompt = JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] })
  const answer = () => ask('/v1/messages', 'POST', prompt)
  expect((await ask('/v1/messages', 'POST', prompt, 'sk-south')).status).toBe(401)
  expect((await ask('/faults', 'PUT', '[sim error=529]', 'sk-south')).status).toBe(401)
  expect(await (await answer()).json()).toMatchObject({ id: expect.stringMatching(/^msg_sim_north_/) })
  expect(await (await ask('/faults', 'PUT', '[sim error=529 retry_after=7]')).text()).toBe('[sim error=529 retry_after=7]\n')
  const overloaded = await answer()
  expect([overloaded.status, overloaded.headers.get('retry-after')]).toEqual([529, '7'])
  expect((await ask('/faults', 'PUT', '[sim eror=529]')).status).toBe(400)
  expect(await (await ask('/faults', 'GET', undefined)).text()).toBe('[sim error=529 retry_after=7]\n')
  expect(await (await ask('/faults', 'DELETE', undefined)).text()).toBe('none\n')
  expect((await answer()).status).toBe(200)
  expect((await ask('/faults', 'POST', '')).status).toBe(405)
  process.emit('SIGTERM')
  expect(await ended).toBe(0)
})

test('behind the door of a cloud it takes that door’s calls alone, and checks signatures; another kind or half a key is wrong use', async () => {
  const { promise: line, resolve } = Promise.withResolvers<string>()
  const ended = runCli(
    ['simulate', '--port', '0', '--kind', 'bedrock-invoke', '--aws-key', 'AKID:secret'],
    place.environment(resolve, resolve),
  )
  const [, url] = /listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(await line) ?? []
  const refused = await fetch(`${url}/model/m/invoke`, { method: 'POST', body: '{}' })
  expect([refused.status, refused.headers.get('x-amzn-errortype')]).toEqual([403, expect.stringMatching(/^AccessDeniedException/)])
  expect(await refused.json()).toEqual({ message: 'The request has no signature' })
  process.emit('SIGTERM')
  expect(await ended).toBe(0)
  for (const [option, value] of [
    ['--kind', 'openrouter'],
    ['--aws-key', 'AKID'],
  ] as const)
    expect(await place.run('simulate', '--port', '0', option, value)).toMatchObject({ code: 2, err: expect.stringContaining(option) })
})

test('a name that could not stand in an id is wrong use', async () => {
  expect(await place.run('simulate', '--port', '0', '--name', 'a b')).toMatchObject({ code: 2, err: expect.stringContaining('--name') })
})

test('a port that is taken is wrong use, and says so', async () => {
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  expect(await place.run('simulate', '--port', String(taken.port))).toEqual({
    code: 2,
    out: '',
    err: `tollgate: 127.0.0.1:${taken.port} cannot be listened on; is the port taken?\n`,
  })
  taken.stop(true)
})
