/** A log that nobody reads is dropped beyond a bound and said so; neither that nor a reader that is gone stops the gateway. Rules: operator.md "Log". */

import { expect, test } from 'bun:test'
import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { lineWriter } from '../../src/observe/stderr.ts'

/** A reader that takes what is written only when told. */
class Reader extends EventEmitter {
  readonly texts: string[] = []
  readonly #waiting: (() => void)[] = []

  write(text: string, done: () => void): boolean {
    this.texts.push(text)
    this.#waiting.push(done)
    return true
  }

  readAll(): void {
    for (const done of this.#waiting.splice(0)) done()
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the lines of a turn are one write in their order, and an end does not wait for the turn', async () => {
  const reader = new Reader()
  const { write, flush } = lineWriter(reader)
  write('one\n')
  write('two\n')
  expect(reader.texts).toEqual([])
  await nextTurn()
  expect(reader.texts).toEqual(['one\ntwo\n'])
  write('last\n')
  flush()
  await nextTurn()
  expect(reader.texts.slice(1)).toEqual(['last\n'])
})

test('lines that nobody reads are dropped beyond a bound, and counted for who reads again', async () => {
  const reader = new Reader()
  const { write } = lineWriter(reader)
  const line = `${'x'.repeat(1024 * 1024 - 1)}\n`
  for (let i = 0; i < 10; i++) write(line)
  await nextTurn()
  for (let i = 0; i < 10; i++) write(line)
  await nextTurn()
  expect(reader.texts.join('')).toHaveLength(16 * 1024 * 1024)
  reader.readAll()
  write('after\n')
  write('and on\n')
  await nextTurn()
  expect(reader.texts.at(-1)).toBe('{"level":"warn","notice":"log lines were dropped","count":4}\nafter\nand on\n')
})

test('what the last turn said is written when the process ends, by a bug as well', async () => {
  const source = join(import.meta.dir, '../../src/observe/stderr.ts')
  for (const [end, code] of [
    ['process.exit(3)', 3],
    ['throw new Error("a bug")', 1],
  ] as const) {
    const script = `import { logToStderr } from ${JSON.stringify(source)}; logToStderr()('said at the end\\n'); ${end}`
    const child = Bun.spawn([process.execPath, '-e', script], { stderr: 'pipe' })
    expect(await new Response(child.stderr).text()).toContain('said at the end\n')
    expect(await child.exited).toBe(code)
  }
})

test('a reader that has gone is no exception of ours', () => {
  const reader = new Reader()
  lineWriter(reader)
  expect(() => reader.emit('error', new Error('EPIPE'))).not.toThrow()
})
