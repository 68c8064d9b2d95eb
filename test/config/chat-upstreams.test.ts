/** Upstreams that speak chat in the configuration: what they take, what has no meaning there, and which models may have both kinds. Rules: openai.md "Settings", "Pools". */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { textOfProblem } from '../../src/config/problems.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-chat-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function load(toml: string) {
  writeFileSync(join(folder, 'case.toml'), toml)
  return loadConfig({ file: 'case.toml', folder, env: { KEY: 'secret' } })
}

function good(toml: string): Config {
  const config = load(toml)
  if ('problems' in config) throw new Error(config.problems.map(textOfProblem).join('\n'))
  return config
}

function mistakes(toml: string): readonly string[] {
  const config = load(toml)
  return 'problems' in config ? config.problems.map(textOfProblem) : []
}

const upstream = (name: string, more = '', address = 'http://desk:8000/v1/'): string =>
  `[[upstreams]]\nname = "${name}"\nkind = "openai"\nbase_url = "${address}"\n${more}\n`
const NATIVE = '[[upstreams]]\nname = "vendor"\nbase_url = "https://llm.example.com"\n'
const model = (more = ''): string =>
  `[[models]]\nid = "m"\ninput = "1"\noutput = "2"\ncontext_window = 1000\nmax_output_tokens = 100\n${more}\n`

test('an upstream of kind openai keeps the /v1 of its address, is told its key as Bearer, and has defaults', () => {
  const { upstreams, catalog } = good(upstream('desk', 'api_key_env = "KEY"') + model())
  const dialect = { reasoning: 'auto', maxTokensField: 'max_tokens', streamUsage: true, dropFields: [], passFields: [] }
  expect(upstreams[0]).toMatchObject({
    baseUrl: 'http://desk:8000/v1',
    auth: 'bearer',
    apiKey: 'secret',
    door: { kind: 'openai', isFinishedAlone: true },
  })
  expect(catalog.models.get('m')).toMatchObject({ isNative: false, chat: [dialect], upstreams: [{ name: 'desk', dialect: 0 }] })
})

test('upstreams of a model that agree in their settings share a manner, and others have one of their own', () => {
  const settings =
    'reasoning = "none"\nmax_tokens_field = "max_completion_tokens"\nstream_usage = false\ndrop_fields = ["seed"]\npass_fields = ["top_k"]\non_leave = "abort"'
  const config = good(upstream('a') + upstream('b', settings, 'http://b/v1') + upstream('c', '', 'http://c/v1') + model())
  expect(config.catalog.models.get('m')?.upstreams.map(({ dialect }) => dialect)).toEqual([0, 1, 0])
  expect(config.catalog.models.get('m')?.chat[1]).toEqual({
    reasoning: 'none',
    maxTokensField: 'max_completion_tokens',
    streamUsage: false,
    dropFields: ['seed'],
    passFields: ['top_k'],
  })
  expect(config.upstreams[1]?.door).toMatchObject({ isFinishedAlone: false })
})

test('a model has upstreams of both kinds only where it names them', () => {
  expect(mistakes(NATIVE + upstream('desk') + model())).toEqual([expect.stringContaining('models[0]: expected upstreams = […]')])
  const { catalog } = good(NATIVE + upstream('desk') + model('upstreams = ["vendor", { name = "desk", model = "d" }]'))
  expect(catalog.models.get('m')).toMatchObject({
    isNative: true,
    upstreams: [{ name: 'vendor' }, { name: 'desk', model: 'd', dialect: 0 }],
  })
})

test('models of a gateway that serves chat anywhere may meet its thinking, and others need not look', () => {
  const both = good(NATIVE + upstream('desk') + model('upstreams = ["vendor"]'))
  expect(both.catalog.models.get('m')).toMatchObject({ isNative: true, chat: [], mayMeetOwnThinking: true })
  expect(good(NATIVE + model()).catalog.models.get('m')?.mayMeetOwnThinking).toBeUndefined()
})

test.each([
  ['reasoning = "none"', 'upstreams[0].reasoning'],
  ['max_tokens_field = "max_tokens"', 'upstreams[0].max_tokens_field'],
  ['stream_usage = true', 'upstreams[0].stream_usage'],
  ['pass_fields = ["a"]', 'upstreams[0].pass_fields'],
  ['on_leave = "abort"', 'upstreams[0].on_leave'],
])('a setting of servers that speak chat is a mistake beside another kind: %s', (setting, path) => {
  expect(mistakes(`${NATIVE}${setting}\n${model()}`)).toEqual([`${path}: expected kind = "openai" beside it`])
})

test.each([
  ['dialect = "vendor"', 'upstreams[0].dialect'],
  ['versions = "no"', 'upstreams[0].versions'],
  ['betas = "yes"', 'upstreams[0].betas'],
  ['count_tokens = "yes"', 'upstreams[0].count_tokens'],
  ['drop_fields = ["seed", "messages"]', 'upstreams[0].drop_fields[1]'],
  ['pass_fields = ["provider"]', 'upstreams[0].pass_fields[0]'],
  ['pass_fields = ["max_tokens"]', 'upstreams[0].pass_fields[0]'],
  ['reasoning = "thoughts"', 'upstreams[0].reasoning'],
])('what cannot be is named: %s', (setting, path) => {
  expect(mistakes(upstream('desk', setting) + model()).map((mistake) => mistake.split(':')[0])).toEqual([path])
})

test('only a model on a server that speaks chat can lack what those lack', () => {
  expect(mistakes(NATIVE + model('rejects = ["images"]'))).toEqual([
    expect.stringContaining('models[0].rejects[0]: expected an upstream of kind "openai"'),
  ])
  expect(
    good(upstream('desk') + model('rejects = ["images", "documents", "system", "parallel_tools"]')).catalog.models.get('m')?.rejects.size,
  ).toBe(4)
})

test.each([['drop_betas = ["a-1"]'], ['rename_betas = { a = "b" }'], ['default_edits = false']])(
  'an edit of native requests is a mistake where none is sent: %s',
  (setting) => {
    const [name = ''] = setting.split(' ')
    const found = mistakes(`${NATIVE}kind = "openai"\n${setting}\n${model()}`)
    expect(found).toEqual([`upstreams[0].${name}: has no meaning with kind = "openai": it is of native requests`])
  },
)
