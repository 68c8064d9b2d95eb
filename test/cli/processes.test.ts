/**
 * Several processes on one port: begun as one, begun anew when one dies, ended as one. What a gateway does in each of them stands in test/crash.
 * Rules: operator.md "Processes".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { configOfSlot, readCount, readSlot, slotsProblem, textOfSlot } from '../../src/cli/process-slot.ts'
import { Processes } from '../../src/cli/processes.ts'
import { endMsOf } from '../../src/cli/serve-many.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { until } from '../support/until.ts'
import { Workplace } from './run.ts'

const PROGRAM = join(import.meta.dir, '../support/slot-process.ts')
const DELAYS = { firstMs: 20, maxMs: 80, steadyMs: 60_000 }

type Making = Readonly<{ delays?: typeof DELAYS; endMs?: number; silentMs?: number; leads?: boolean }>

let place: Workplace
let notes: string
let url: string | undefined
let notices: (Record<string, unknown> & { text: string })[]
beforeEach(() => {
  place = new Workplace()
  notes = join(place.folder, 'notes')
  writeFileSync(notes, '')
  url = undefined
  notices = []
})
afterEach(() => place.remove())

/** `delays`: undefined for those of the product. `leads`: whether there is a number 0. */
const made = (count: number, { delays, endMs = 60_000, silentMs = 60_000, leads = false }: Making): Processes =>
  new Processes({
    ...{ count, leads },
    port: 0,
    command: (index, shared) => [process.execPath, PROGRAM, String(index), String(shared ?? 0), notes],
    env: { PATH: process.env['PATH'] },
    onListening: (address) => {
      if (url !== undefined) throw new Error('told twice')
      url = address
    },
    log: { notice: (text, fields = {}) => void notices.push({ text, ...fields }) },
    ...(delays === undefined ? {} : { delays }),
    endMs: () => endMs,
    silentMs,
  })

const began = (count: number, delays = DELAYS, endMs = 60_000, silentMs = 60_000): Processes => made(count, { delays, endMs, silentMs })

const noted = (): readonly string[] => readFileSync(notes, 'utf8').trim().split('\n')
const count = (words: string): number => noted().filter((line) => line.endsWith(words)).length

/** Who answers on the port: number and pid. */
async function answering(): Promise<ReadonlySet<string>> {
  const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(url ?? '').then((answer) => answer.text())))
  return new Set(answers)
}

test('all listen on the port that the first picked, and the address is told once, when they do', async () => {
  const processes = began(3)
  const ended = processes.run()
  await until(() => url !== undefined)
  expect(noted()).toHaveLength(3)
  expect(noted()[0]).toBe('1 began')
  await until(async () => (await answering()).size === 3)
  processes.reload('reload')
  await until(() => count('reload') === 3)
  const times = (): readonly string[] => noted().flatMap((line) => /reload, line of (\d+)$/.exec(line)?.[1] ?? [])
  expect(times()).toEqual([])
  // All write the line of one time; a process that hears the signal itself passes it on, and all reload.
  const before = Date.now()
  processes.reload('reloadWithLine')
  await until(() => times().length === 3)
  expect(new Set(times()).size).toBe(1)
  expect(Number(times()[0])).toBeWithin(before, Date.now() + 1)
  await fetch(`${url}/reload`)
  await until(() => times().length === 6)
  expect(new Set(times().slice(3)).size).toBe(1)
  expect(count('reload')).toBe(3)
  processes.stop()
  expect(await ended).toBe(0)
  expect(count('drain')).toBe(3)
  expect(count('began')).toBe(3)
  expect(count('hurry')).toBe(0)
})

test('one that dies begins anew on the same port, each time after a longer wait, and the others stay', async () => {
  const processes = began(2)
  const ended = processes.run()
  await until(() => url !== undefined)
  const before = await answering()
  for (let deaths = 1; deaths <= 5; deaths++) {
    await fetch(`${url}/die`).catch(() => undefined)
    await until(
      () => notices.filter(({ text }) => text === 'a process ended and will begin anew').length === deaths && count('began') === 2 + deaths,
    )
    await until(async () => (await answering()).size === 2)
  }
  const deaths = notices.filter(({ text }) => text === 'a process ended and will begin anew')
  expect(deaths.every(({ code }) => code === 9)).toBeTrue()
  for (const index of [1, 2]) {
    const waits = deaths.filter(({ process }) => process === index).map(({ wait_ms }) => wait_ms)
    expect(waits).toEqual([20, 40, 80, 80, 80].slice(0, waits.length))
  }
  expect([...(await answering())].some((who) => !before.has(who))).toBeTrue()
  processes.stop()
  expect(await ended).toBe(0)
})

test('of those that serve a file each begins anew 200 ms after it died, the ledger process as its relays', async () => {
  const processes = made(1, { leads: true })
  const ended = processes.run()
  await until(() => url !== undefined)
  for (const index of [0, 1]) {
    const pid = notices.find(({ text, process }) => text === 'a process begins' && process === index)?.['pid']
    process.kill(Number(pid), 'SIGKILL')
    await until(() => count(`${index} began`) === 2)
  }
  const deaths = notices.filter(({ text }) => text === 'a process ended and will begin anew')
  expect(deaths.map(({ process, wait_ms }) => [process, wait_ms])).toEqual([
    [0, 200],
    [1, 200],
  ])
  processes.stop()
  expect(await ended).toBe(0)
})

test('one that was cut off is killed and begun anew, unless it still begins, when it is let begin however long it takes', async () => {
  writeFileSync(`${notes}.slow-2`, '')
  const processes = made(2, { leads: true, delays: DELAYS })
  const ended = processes.run()
  const pidOf = (index: number): unknown =>
    notices.findLast(({ text, process }) => text === 'a process begins' && process === index)?.['pid']
  await until(() => count('0 began') + count('1 began') + count('2 began') === 3, 'all have begun')
  const first = [pidOf(1), pidOf(2)]
  // The leader tells what it is told, and its parent hears both before the slow one listens.
  writeFileSync(`${notes}.cuts-off`, first.join('\n'))
  await until(() => url !== undefined && count('1 began') === 2, 'the other one is replaced')
  // One that is told to end in the moment in which it begins to listen ends by the signal.
  await until(async () => (await answering()).size === 2, 'both answer')
  const killed = notices.filter(({ text }) => text === 'a process is cut off from the ledger and is killed')
  expect(killed.map(({ pid }) => pid)).toEqual([first[0]])
  expect([pidOf(2), count('2 began')]).toEqual([first[1], 1])
  processes.stop()
  expect(await ended).toBe(0)
})

test('one that cannot begin ends all of them with its exit code, and no address is told', async () => {
  for (const [index, expected] of [
    [1, ['1 began']],
    [3, ['1 began', '1 drain', '2 began', '2 drain', '3 began']],
  ] as const) {
    writeFileSync(notes, '')
    writeFileSync(`${notes}.cannot-begin-${index}`, '')
    expect(await began(3).run()).toBe(3)
    expect([...noted()].sort()).toEqual([...expected])
    expect(url).toBeUndefined()
    await Bun.file(`${notes}.cannot-begin-${index}`).delete()
  }
})

test('one that hangs while it begins is killed and begun anew, and one that takes long and says so is not', async () => {
  writeFileSync(`${notes}.hangs-1`, '')
  writeFileSync(`${notes}.hangs-3`, '')
  writeFileSync(`${notes}.slow-2`, '')
  const processes = began(3, DELAYS, 60_000, 3_000)
  const ended = processes.run()
  await until(() => url !== undefined)
  expect([...noted()].sort()).toEqual(['1 began', '1 began', '2 began', '3 began', '3 began'])
  const hung = notices.filter(({ text }) => text.includes('hangs'))
  expect(hung).toEqual(
    [1, 3].map((process) => ({ text: 'a process hangs while it begins: it is killed and begun anew', process, step: 'the lane' })),
  )
  processes.stop()
  expect(await ended).toBe(0)
})

test('a stop ends those that hang while they begin at once, and those that do not drain when their time is over', async () => {
  writeFileSync(`${notes}.hangs-on`, '')
  writeFileSync(`${notes}.hangs-2`, '')
  const beginning = began(2)
  const ended = beginning.run()
  await until(() => count('2 began') === 1)
  beginning.stop()
  expect(await ended).toBe(0)
  expect(count('drain')).toBe(1)
  rmSync(`${notes}.hangs-2`)
  writeFileSync(`${notes}.streams`, '')
  const running = began(2, DELAYS, 500)
  const killed = running.run()
  await until(() => url !== undefined)
  running.stop()
  expect(await killed).toBe(137)
  expect(notices.filter(({ text }) => text === 'a process has not ended in time and is killed')).toHaveLength(2)
})

test('before those that leave are killed they have the time in which a balancer looks away, and their drain', () => {
  const endMs = (toml: string): number => {
    place.write('tollgate.toml', toml)
    return endMsOf(loadConfig({ file: undefined, folder: place.folder, env: {} }) as Config)
  }
  const drain = '[limits]\ndrain_ms = 7_000\n'
  expect(endMs(drain)).toBe(17_000)
  expect(endMs(`${drain}[server]\ndrain_delay_ms = 600_000\n`)).toBe(617_000)
  expect(endMs(`${drain}[server]\ntrusted_proxies = ["127.0.0.1"]\n`)).toBe(22_000)
})

test('the second stop does not wait', async () => {
  writeFileSync(`${notes}.streams`, '')
  const processes = began(2)
  const ended = processes.run()
  await until(() => url !== undefined)
  processes.stop()
  await until(() => count('drain') === 2)
  processes.stop()
  expect(await ended).toBe(0)
  expect(count('hurry')).toBe(2)
  expect(count('began')).toBe(2)
})

test('a stop that comes while one is to begin anew begins nothing, and waits for nothing', async () => {
  const processes = began(2, { ...DELAYS, firstMs: 60_000, maxMs: 60_000 })
  const ended = processes.run()
  await until(() => url !== undefined)
  await fetch(`${url}/die`).catch(() => undefined)
  await until(() => notices.some(({ text }) => text === 'a process ended and will begin anew'))
  processes.stop()
  expect(await ended).toBe(0)
  expect([count('began'), count('drain')]).toEqual([2, 1])
})

test('whoever has lost its parent drains', async () => {
  const parent = Bun.spawn([process.execPath, PROGRAM, '1', '0', notes], { stdin: 'pipe', stdout: 'pipe' })
  await until(() => count('began') === 1)
  await Bun.sleep(300)
  parent.stdin.end()
  expect(await parent.exited).toBe(0)
  expect(noted()).toEqual(['1 began', '1 drain'])
})

test('each process is a node with an operator’s port of its own, and what does not fit is said in words', async () => {
  const toml = '[operator]\nport = 9090\n[ledger]\nurl_env = "LEDGER_URL"\nnode = "web"\n'
  place.write('tollgate.toml', toml)
  const config = loadConfig({ file: undefined, folder: place.folder, env: { LEDGER_URL: 'postgres://me@db/toll' } }) as Config
  const parts = [1, 2].map((index) => configOfSlot(config, readSlot(textOfSlot({ index, count: 2 }))))
  expect(parts.map(({ operator, ledger }) => [operator.port, 'node' in ledger && ledger.node])).toEqual([
    [9090, 'web/1'],
    [9091, 'web/2'],
  ])
  expect(configOfSlot({ ...config, operator: { ...config.operator, port: 0 } }, { index: 2, count: 2 }).operator.port).toBe(0)
  expect(slotsProblem(config, 4)).toBeUndefined()
  expect(slotsProblem({ ...config, operator: { ...config.operator, port: 65_534 } }, 2)).toBeUndefined()
  expect(slotsProblem({ ...config, operator: { ...config.operator, port: 65_534 } }, 3)).toContain('operator.port (65534)')
  expect(await place.run('serve', '--processes', '0')).toMatchObject({ code: 2, err: expect.stringContaining('--processes') })
})

test('on a file each process is a relay, and the ledger process has the operator’s port behind the last; elsewhere than on Linux that is refused', () => {
  const config = loadConfig({ file: undefined, folder: place.folder, env: {} }) as Config
  const parts = [0, 1, 2].map((index) => configOfSlot(config, { index, count: 2 }))
  expect(parts.map(({ operator, ledger }) => [operator.port, 'part' in ledger && ledger.part])).toEqual([
    [9092, 'ledger process'],
    [9090, 'relay'],
    [9091, 'relay'],
  ])
  expect(slotsProblem(config, 2, 'linux')).toBeUndefined()
  expect(slotsProblem(config, 1, 'darwin')).toBeUndefined()
  expect(slotsProblem(config, 2, 'darwin')).toBe(
    '2 processes on a ledger in a file need Linux; elsewhere they need one on Postgres, which [ledger] url_env names',
  )
  expect(slotsProblem({ ...config, operator: { ...config.operator, port: 65_534 } }, 2, 'linux')).toContain('3 do not fit')
})

test('as many as there are cores, less one, is a count as well', () => {
  expect(readCount('auto')).toBe(Math.max(1, availableParallelism() - 1))
  expect(readCount('3')).toBe(3)
  for (const wrong of ['0', '257', 'all', '-1', '1.5', '']) expect(() => readCount(wrong)).toThrow('expected a number')
})
