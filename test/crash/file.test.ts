/**
 * Accidents with the ledger's files around a gateway process: links, files that are moved, removed or replaced, kills. No request is admitted that nobody would
 * find again, and nothing that was charged is lost. Rules: ledger.md "One writer", "A ledger that vanishes", "Restore".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, linkSync, readdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { startWatch, until } from '../support/until.ts'
import { type Call, keepBooks } from './book-keeper.ts'
import { PROGRAM } from './compiled.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { ALL_WAYS, askIn, MODEL_ID, openStream, PROMPT, post } from './load.ts'
import { type GatewayProcess, type Key, Place, PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

let place: Place
let books: ReturnType<typeof keepBooks>
beforeEach(() => {
  place = new Place()
  books = keepBooks()
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
})
afterEach(async () => {
  await place.remove()
  await books.stop()
})

const request = { model: MODEL_ID, max_tokens: 10, messages: [{ role: 'user', content: PROMPT }] }
const readyz = async (gateway: GatewayProcess): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status
const requestsIn = async (...more: readonly string[]): Promise<number> =>
  (await place.json<{ data: { requests: number }[] }>('usage', ...more)).data.reduce((sum, { requests }) => sum + requests, 0)

/** A configuration that names the same upstream and another path. */
const configureAt = (name: string, path: string): void =>
  place.write(name, configurationOf({ upstreamUrl: books.url, more: `[ledger]\npath = ${JSON.stringify(path)}\n` }))

async function askAll(gateway: GatewayProcess, key: string): Promise<void> {
  for (const way of ALL_WAYS) expect(await askIn(way, gateway.url, key), way).toBeDefined()
}

/** Whatever is left of an upstream's connection, a gateway that has nothing more to do ends. */
async function stop(gateway: GatewayProcess, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  using watch = startWatch()
  gateway.signal(signal)
  await gateway.exited
  expect(watch.ms()).toBeLessThan(STOPPED_MS_MAX)
}

/** Below the five seconds for which the rest of an answer is read. */
const STOPPED_MS_MAX = 4_000

/** `serve` must refuse to start, and say why. */
async function refusesToServe(words: RegExp, ...args: readonly string[]): Promise<void> {
  const child = Bun.spawn([...PROGRAM, 'serve', '--port', '0', ...args], {
    cwd: place.folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: place.folder, ...UPSTREAM_ENV },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), PROCESS_TIMEOUT_MS)
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  clearTimeout(timer)
  expect({ code: await child.exited, out }).toEqual({ code: 3, out: '' })
  expect(err).toMatch(words)
}

test('a second gateway gets nowhere, by whatever name, and its end takes nothing of the first along', async () => {
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  expect(gateway.err()).toContain(`"notice":"a new ledger was made","path":"${place.ledgerPath}"`)
  const { id, key } = await place.createKey()
  const stream = await openStream(gateway.url, key)
  const [symlink, hard] = [join(place.folder, 'symlink.db'), join(place.folder, 'hard.db')]
  symlinkSync(place.ledgerPath, symlink)
  linkSync(place.ledgerPath, hard)
  configureAt('symlink.toml', symlink)
  configureAt('hard.toml', hard)
  rmSync(`${place.ledgerPath}.lock`, { force: true })
  for (const args of [[], ['--config', 'symlink.toml'], ['--config', 'hard.toml']])
    await refusesToServe(new RegExp(`ledger is in use by pid ${gateway.pid}\n`), ...args)
  // Through the hard link a command finds a ledger that is held; through the symlink it finds the running gateway.
  expect(await place.run('accounts', 'create', 'acme', '--config', 'hard.toml')).toMatchObject({ code: 3 })
  unlinkSync(hard)
  expect(await place.json<Key>('keys', 'limit', id, '50', '--config', 'symlink.toml')).toMatchObject({ id })
  expect(await stream.rest()).toContain('message_stop')
  await askAll(gateway, key)
  await stop(gateway)
  await place.verify()
  expect(await requestsIn()).toBe(1 + ALL_WAYS.length)
})

/** The gateway looks twice a second; on a machine that does much else its answer comes later. */
const SEEN_MS_MAX = 3_000

/** Each leaves less at the path than the gateway has open. */
const LOSSES: Readonly<Record<string, (path: string) => void>> = {
  'the file is removed': (path) => unlinkSync(path),
  'the file is moved': (path) => renameSync(path, `${path}.moved`),
  'the file is replaced by an older copy': (path) => {
    copyFileSync(join(path, '../../early.db'), `${path}.older`)
    renameSync(`${path}.older`, path)
  },
  'all files are removed': (path) => {
    for (const suffix of ['', '-wal', '-shm']) unlinkSync(path + suffix)
  },
  'the log is removed': (path) => unlinkSync(`${path}-wal`),
}

/** What was restored is the same file whatever was lost: one of them goes on from there. */
const SERVED_AGAIN = 'the file is removed'

for (const [name, lose] of Object.entries(LOSSES)) {
  test(`${name} under a running gateway: within a second it admits nobody, and all that was charged can be had back`, async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    await books.stop()
    books = keepBooks((call: Call, step) => (call.number === 0 && step === 2 ? gate : undefined))
    place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
    const gateway = await place.serve({ env: UPSTREAM_ENV })
    const { id, key } = await place.createKey()
    await place.json('backup', 'early.db')
    const stream = await openStream(gateway.url, key)
    await stream.until('answer-0. 1 ')
    await askAll(gateway, key)
    const offset = gateway.err().length
    lose(place.ledgerPath)
    using watch = startWatch()
    while ((await readyz(gateway)) === 200 && watch.ms() < 5_000) await Bun.sleep(20)
    expect(watch.ms()).toBeLessThan(SEEN_MS_MAX)
    await gateway.said('no new requests', offset)
    expect((await post(gateway.url, '/v1/messages', key, request)).status).toBe(503)
    const limited = await place.run('keys', 'limit', id, '5')
    expect(limited.code, limited.err).toBeGreaterThan(1)
    expect(limited.err).toMatch(/nothing is changed|there is no ledger|cannot be opened|not a sound ledger/)
    // What runs ends well, and is in the file that is open.
    open()
    expect(await stream.rest()).toContain('message_stop')
    const rescue = /cp (\/proc\/\d+\/fd\/\d+) FILE/.exec(gateway.err())?.[1] ?? ''
    copyFileSync(rescue, join(place.folder, 'rescued.db'))
    expect(await place.run('restore', 'rescued.db')).toMatchObject({ code: 3, err: expect.stringContaining('a gateway is running') })
    await stop(gateway)

    if (name !== 'the log is removed') await refusesToServe(/tollgate restore FILE/)
    expect(await place.run('restore', 'rescued.db')).toMatchObject({ code: 0 })
    await place.verify()
    expect(await requestsIn()).toBe(1 + ALL_WAYS.length)
    if (name !== SERVED_AGAIN) return
    const again = await place.serve({ env: UPSTREAM_ENV })
    await askAll(again, key)
    await stop(again)
    await place.verify()
    expect(await requestsIn()).toBe(1 + 2 * ALL_WAYS.length)
  })
}

test('a file that is moved and put back is served again', async () => {
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { key } = await place.createKey()
  renameSync(place.ledgerPath, `${place.ledgerPath}.moved`)
  await until(async () => (await readyz(gateway)) !== 200)
  renameSync(`${place.ledgerPath}.moved`, place.ledgerPath)
  await until(async () => (await readyz(gateway)) === 200)
  await askAll(gateway, key)
  await stop(gateway)
  await place.verify()
})

test('after kill -9 a ledger whose log or file is gone is refused, and restore brings it back to a backup', async () => {
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { key } = await place.createKey()
  await askAll(gateway, key)
  await place.json('backup', 'copy.db')
  await askAll(gateway, key)
  // The mark is as old as a look at the files.
  await Bun.sleep(700)
  await stop(gateway, 'SIGKILL')
  unlinkSync(`${place.ledgerPath}-wal`)
  rmSync(`${place.ledgerPath}-shm`, { force: true })
  await refusesToServe(/put back what is missing, or `tollgate restore FILE` a backup; to go on without it, remove .*\.mark/)
  unlinkSync(place.ledgerPath)
  await refusesToServe(/tollgate\.db is gone; .*tollgate restore FILE/)
  expect(existsSync(place.ledgerPath)).toBeFalse()
  expect((await place.run('restore', 'copy.db')).code).toBe(0)
  const again = await place.serve({ env: UPSTREAM_ENV })
  await askAll(again, key)
  await stop(again)
  await place.verify()
  expect(await requestsIn()).toBe(2 * ALL_WAYS.length)
  expect(readdirSync(join(place.folder, 'data')).filter((name) => name.includes('restoring'))).toEqual([])
})

test('restore after kill -9 keeps the killed ledger whole beside it, with what was in its log', async () => {
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { key } = await place.createKey()
  await place.json('backup', 'copy.db')
  await askAll(gateway, key)
  await stop(gateway, 'SIGKILL')
  const { set_aside } = await place.json<{ set_aside: string[] }>('restore', 'copy.db')
  expect(await requestsIn()).toBe(0)
  configureAt('old.toml', set_aside.at(-1) ?? '')
  expect(await requestsIn('--config', 'old.toml')).toBe(ALL_WAYS.length)
  await place.verify()
})
