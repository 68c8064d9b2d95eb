/** Protects nodes.md "Nodes that differ": what decides over a request's price or end is in a node's facts, whatever the order in the file, and no secret and nothing of its own is. */

import { expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { factsOf } from '../../src/config/node-facts.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-facts-'))

function factsWith(text: string, env: Record<string, string> = {}) {
  writeFileSync(join(folder, 'case.toml'), text)
  const config = loadConfig({ file: 'case.toml', folder, env: { KEY: 'secret', ...env } })
  if ('problems' in config) throw new Error(JSON.stringify(config.problems))
  return factsOf(config, '1.0.0')
}

const model = (id: string, more = '') => `[[models]]
id = "${id}"
input = "3"
output = "15"
context_window = 200000
max_output_tokens = 64000
${more}
`
const upstream = (more = '') => `[[upstreams]]\nname = "north"\nbase_url = "https://example.com"\napi_key_env = "KEY"\n${more}`
const plan = '[plans.default]\nmodels = ["*"]\n'
const BASE = upstream() + model('a') + model('b') + plan
const differing = (text: string, env?: Record<string, string>): string[] => {
  const [before, after] = [factsWith(BASE), factsWith(text, env)]
  return Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name])
}

test('what decides over a price or an end differs, each under its name', () => {
  expect(differing(upstream() + model('a') + model('b', 'cache_read = "0.7"') + plan)).toEqual(['prices'])
  expect(differing(upstream() + model('a') + model('b').replace('64000', '32000') + plan)).toEqual(['models'])
  expect(differing(BASE.replace('"*"', '"a"'))).toEqual(['plans'])
  expect(differing(`${BASE}max_request_usd = "0.5"\n`)).toEqual(['plans'])
  expect(differing(`${BASE}requests_per_minute = 5\n`)).toEqual(['plans'])
  expect(differing(`${BASE}[limits]\nrequests_per_minute = 5\n`)).toEqual(['limits'])
  expect(differing(upstream('weight = 3\n') + model('a') + model('b') + plan)).toEqual(['upstreams'])
  expect(differing(`${BASE}[cabinet]\nsign_up = "open"\n`)).toEqual(['sign_up'])
})

test('order, addresses of its own and secrets do not', () => {
  expect(differing(plan + model('b') + model('a') + upstream())).toEqual([])
  expect(differing(`${BASE}[server]\nport = 8081\n[operator]\nport = 9099\n`)).toEqual([])
  expect(differing(BASE, { KEY: 'another' })).toEqual([])
})
