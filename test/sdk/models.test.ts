/** The vendors’ SDKs list and retrieve the models of a key, and read our refusals as their own errors. Rules: requests.md "Model list". */

import { afterAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { smallApp } from '../support/app.ts'
import { makeTestWorld } from '../support/world.ts'

const { world, addKey } = makeTestWorld()
const apiKey = addKey()
const app = smallApp(world).listen({ port: 0, hostname: '127.0.0.1' })
const url = `http://127.0.0.1:${app.server?.port}`

afterAll(async () => {
  await app.stop(true)
})

const IDS = ['sonnet', 'vendor/model:v1@2.5']

test('both vendors’ SDKs list every model once and stop', async () => {
  const clients = [new OpenAI({ apiKey, baseURL: `${url}/v1` }), new Anthropic({ apiKey, authToken: null, baseURL: url })]
  for (const client of clients) {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual(IDS)
  }
})

test('both vendors’ SDKs retrieve a model with a slash in its id', async () => {
  for (const id of IDS) {
    const fromOpenAi = await new OpenAI({ apiKey, baseURL: `${url}/v1` }).models.retrieve(id)
    expect([fromOpenAi.id, fromOpenAi.object]).toEqual([id, 'model'])
    const fromAnthropic = await new Anthropic({ apiKey, authToken: null, baseURL: url }).models.retrieve(id)
    expect([fromAnthropic.id, fromAnthropic.type]).toEqual([id, 'model'])
    expect(Number.isNaN(Date.parse(fromAnthropic.created_at))).toBe(false)
  }
})

test('an SDK reads our refusals as its own errors, once, with the request’s id', async () => {
  const openai = new OpenAI({ apiKey: 'sk-wrong', baseURL: `${url}/v1` })
  const refused = await openai.models.list().then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(refused).toBeInstanceOf(OpenAI.AuthenticationError)
  expect(refused).toMatchObject({ status: 401, type: 'authentication_error', requestID: expect.stringMatching(/^req_/) })
  const missing = await new Anthropic({ apiKey, authToken: null, baseURL: url }).models.retrieve('nope').then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(missing).toBeInstanceOf(Anthropic.NotFoundError)
})
