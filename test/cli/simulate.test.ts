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

test('a port that is taken is wrong use, and says so', async () => {
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  expect(await place.run('simulate', '--port', String(taken.port))).toEqual({
    code: 2,
    out: '',
    err: `tollgate: 127.0.0.1:${taken.port} cannot be listened on; is the port taken?\n`,
  })
  taken.stop(true)
})
