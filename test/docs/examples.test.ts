/**
 * What the guide tells people to paste works: every curl line is sent as it stands and answered as the page shows, every TypeScript example is run with the
 * SDK that it imports, every JSON and TOML block parses. Against a listening gateway, with a funded key.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Server, TOML } from 'bun'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import type { TestGateway } from '../support/gateway.ts'
import { readCurl } from './curl.ts'
import { guidePagesOf, sampleGateway } from './sample-gateway.ts'

type Block = Readonly<{ page: string; language: string; text: string }>

let gateway: TestGateway
let simulator: Server<unknown>
let key: string
let blocks: readonly Block[]

beforeAll(async () => {
  simulator = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: makeSimulator({ tokensPerSecond: 0 }) })
  gateway = await sampleGateway({ upstreams: [simulator.url.origin] })
  key = await gateway.createKey({ expiresAt: Date.now() + 86_400_000 })
  blocks = guidePagesOf(gateway.world).flatMap(({ path, markdown }) =>
    [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ page: path, language, text })),
  )
})
afterAll(async () => {
  await gateway.stop()
  await simulator.stop(true)
})

const curls = (): readonly Readonly<{ curl: Block; shown: Block | undefined }>[] =>
  blocks.flatMap((curl, index) => {
    if (!curl.text.startsWith('curl')) return []
    const next = blocks[index + 1]
    return [{ curl, shown: next?.page === curl.page && (next.language === 'json' || next.language === 'sse') ? next : undefined }]
  })

test('every curl line is answered, and as the page shows', async () => {
  expect(curls().length).toBeGreaterThan(10)
  expect(curls().filter(({ shown }) => shown !== undefined).length).toBeGreaterThan(6)
  for (const { curl, shown } of curls()) {
    const where = `${curl.page}: ${curl.text}`
    const { url, init } = readCurl(curl.text, { KEY: key })
    expect(url, where).toStartWith(`${gateway.url}/`)
    if (init.body !== undefined) expect(() => JSON.parse(String(init.body)), where).not.toThrow()
    const response = await fetch(url, init)
    const text = await response.text()
    expect(response.ok, `${where}\n${text}`).toBe(!shown?.text.includes('"type": "error"'))
    if (shown?.language === 'json') expect(missing(JSON.parse(shown.text), JSON.parse(text)), where).toEqual([])
    if (shown?.language === 'sse') expect(missing(eventsOf(shown.text), eventsOf(text)), where).toEqual([])
  }
})

test('every TypeScript example runs with the SDK that it names', async () => {
  const examples = blocks.filter(({ language }) => language === 'ts')
  expect(examples.length).toBeGreaterThanOrEqual(5)
  // Inside node_modules, so that the packages are found as they are at a reader's.
  const folder = mkdtempSync(join(import.meta.dir, '../../node_modules/.guide-'))
  try {
    const runs = examples.map(async ({ text }, index) => {
      const file = join(folder, `example-${index}.ts`)
      await Bun.write(file, text)
      const run = Bun.spawn([process.execPath, file], { env: { PATH: process.env['PATH'], KEY: key }, stdout: 'pipe', stderr: 'pipe' })
      const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
      return { code: await run.exited, err: err.trim(), hasOutput: out.trim() !== '' && !out.includes('undefined') }
    })
    for (const run of await Promise.all(runs)) expect(run).toMatchObject({ code: 0, hasOutput: true })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 180_000)

test('every JSON and TOML block parses, and every variable that an example needs was named before', () => {
  for (const { language, text, page } of blocks) {
    if (language === 'json') expect(() => JSON.parse(text), page).not.toThrow()
    if (language === 'toml') expect(() => TOML.parse(text), page).not.toThrow()
  }
  const quickStart = blocks.filter(({ page }) => page === '/docs')
  expect(quickStart[0]?.text).toBe('export KEY=sk-your-key\n')
})

/** Events of a stream: the name and the data of each, `[DONE]` as it is. */
const eventsOf = (text: string): readonly unknown[] =>
  text
    .split('\n\n')
    .filter((frame) => frame.includes('data: '))
    .map((frame) => {
      const data = /^data: (.+)$/m.exec(frame)?.[1] ?? ''
      return { event: /^event: (.+)$/m.exec(frame)?.[1] ?? '', data: data.startsWith('{') ? JSON.parse(data) : data }
    })
    .filter(({ event }) => event !== 'ping')

/** Texts that are the same in every answer; other values may differ, but not their kind. */
const FIXED = new Set(['object', 'type', 'role', 'event', 'model', 'finish_reason', 'stop_reason', 'message', 'code'])

/** The places of what is shown where the answer has nothing of the kind. A stream has more deltas than shown, so its events are looked for in order. */
function missing(shown: unknown, answer: unknown, at = ''): readonly string[] {
  if (Array.isArray(shown) && Array.isArray(answer)) {
    let next = 0
    return shown.flatMap((item, index) => {
      const found = answer.findIndex((one, place) => place >= next && missing(item, one).length === 0)
      next = found + 1
      return found === -1 ? [`${at}[${index}]`] : []
    })
  }
  if (isRecord(shown) && isRecord(answer))
    return Object.entries(shown).flatMap(([name, value]) => {
      if (!Object.hasOwn(answer, name)) return [`${at}.${name}`]
      const isFixed = FIXED.has(name) && typeof value === 'string'
      if (isFixed) return answer[name] === value ? [] : [`${at}.${name}: ${String(answer[name])}`]
      return missing(value, answer[name], `${at}.${name}`)
    })
  return typeof shown === typeof answer ? [] : [`${at}: ${typeof answer}`]
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
