/** A listener that says more than fits is told apart from one that says nothing. Rules: operator.md "Socket". */

import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askLine, listenForLines } from '../../src/operator/line-socket.ts'

test('an answer that is too long is called so, and one that fits is read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lines-'))
  const path = join(folder, 'sock')
  const bugs: unknown[] = []
  const server = listenForLines(
    path,
    (line) => Promise.resolve('x'.repeat(Number(line))),
    (bug) => bugs.push(bug),
  )
  try {
    expect(await askLine(path, String(9 * 1024 * 1024), 60_000)).toBe('too long')
    expect(await askLine(path, '5', 60_000)).toEqual({ text: 'xxxxx' })
    expect(bugs).toEqual([])
  } finally {
    server.stop(true)
    rmSync(folder, { recursive: true, force: true })
  }
})
