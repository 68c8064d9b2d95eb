/** The models of another file: each mistake in the words of the configuration, no secrets, and no upstreams where the file has models alone. Rules: money.md "What if". */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { loadModels } from '../../src/config/load-models.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-models-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MODEL = '[[models]]\nid = "m"\ninput = "3"\noutput = "15"\ncontext_window = 200000\nmax_output_tokens = 64000\n'

function load(toml: string) {
  writeFileSync(join(folder, 'other.toml'), toml)
  return loadModels('other.toml', folder)
}

test('a file with models alone is enough, whatever upstreams they name', () => {
  const models = load(
    `${MODEL}upstreams = ["elsewhere"]\nrejects = ["images"]\n[[models.levels]]\nabove_prompt_tokens = 10\ninput = "6"\noutput = "30"\n`,
  )
  if ('problems' in models) throw new Error(JSON.stringify(models.problems))
  expect(models.get('m')).toMatchObject({
    rates: { input: 3_000_000n },
    levels: [{ abovePromptTokens: 10, rates: { output: 30_000_000n } }],
  })
})

test('a whole configuration is enough without its secrets and its ledger', () => {
  const models = load(
    `[ledger]\nurl_env = "NOT_SET"\n[payments.stripe]\nsecret_key_env = "KEY"\nwebhook_secret_env = "HOOK"\n[[upstreams]]\nname = "main"\nbase_url = "https://llm.example.com"\napi_key_env = "NOT_SET"\n${MODEL}upstreams = ["main"]\n`,
  )
  expect('problems' in models ? models.problems : [...models.keys()]).toEqual(['m'])
})

test('each mistake is named as the configuration names it', () => {
  const upstream = '[[upstreams]]\nname = "main"\nbase_url = "https://llm.example.com"\n'
  for (const toml of [
    '[[models]\n',
    `${MODEL}inputs = "3"\n`,
    MODEL.replace('"3"', '3'),
    MODEL.replace('"3"', '"0.0000001"'),
    `${MODEL}${MODEL}`,
    `${MODEL}[[models.levels]]\nabove_prompt_tokens = 200000\ninput = "6"\noutput = "30"\n`,
    `${upstream}${MODEL}upstreams = ["other"]\n`,
    `${upstream.replace('https', 'gopher')}${MODEL}`,
    `${MODEL}[plans.small]\nmodels = ["n"]\n`,
    `${MODEL}[limits]\nbody_bytes = 0\n`,
  ]) {
    const models = load(toml)
    const config = loadConfig({ file: 'other.toml', folder, env: {}, needsSecrets: false })
    if (!('problems' in models && 'problems' in config)) throw new Error(`no mistake was found in ${toml}`)
    expect([toml, ...models.problems]).toEqual([toml, ...config.problems])
    expect(models.file).toBe(join(folder, 'other.toml'))
  }
})

test('a file without models, or that is not there, has no prices to compare with', () => {
  expect(load('[limits]\nbody_bytes = 5\n')).toMatchObject({
    problems: [{ path: 'models', message: 'expected tables, each written [[models]], found nothing' }],
  })
  expect(loadModels('none.toml', folder)).toMatchObject({ problems: [{ path: '', message: 'there is no such file' }] })
})
