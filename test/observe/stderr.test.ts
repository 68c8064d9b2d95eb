/** A log that nobody reads is dropped beyond a bound and said so; neither that nor a reader that is gone stops the gateway. Rules: operator.md "Log". */

import { expect, test } from 'bun:test'
import { EventEmitter } from 'node:events'
import { lineWriter } from '../../src/observe/stderr.ts'

/** A reader that takes lines only when told. */
class Reader extends EventEmitter {
  readonly lines: string[] = []
  readonly #waiting: (() => void)[] = []

  write(line: string, done: () => void): boolean {
    this.lines.push(line)
    this.#waiting.push(done)
    return true
  }

  readAll(): void {
    for (const done of this.#waiting.splice(0)) done()
  }
}

test('lines that nobody reads are dropped beyond a bound, and counted for who reads again', () => {
  const reader = new Reader()
  const write = lineWriter(reader)
  const line = `${'x'.repeat(1024 * 1024 - 1)}\n`
  for (let i = 0; i < 20; i++) write(line)
  expect(reader.lines).toHaveLength(16)
  reader.readAll()
  write('after\n')
  expect(reader.lines.slice(16).map((text) => text.trim())).toEqual([
    '{"level":"warn","notice":"log lines were dropped","count":4}',
    'after',
  ])
  write('and on\n')
  expect(reader.lines.at(-1)).toBe('and on\n')
})

test('a reader that has gone is no exception of ours', () => {
  const reader = new Reader()
  lineWriter(reader)
  expect(() => reader.emit('error', new Error('EPIPE'))).not.toThrow()
})
