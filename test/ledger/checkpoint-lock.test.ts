/** A checkpoint that runs is seen in whatever process it does, and nothing else is taken for one. Rules: ledger.md "A ledger that is overwritten". */

import { expect, test } from 'bun:test'
import { closeSync, openSync } from 'node:fs'
import { openDatabase } from '../../db/open.ts'
import { CheckpointLock } from '../../src/ledger/sqlite/log-progress.ts'
import { makePath } from '../support/ledger.ts'

/** Of another process: has SQLite's lock of the byte in the index of the log until its input ends. Arguments: the ledger, the byte, the type of the lock. */
const HOLDER = `
const { dlopen, ptr } = require('bun:ffi')
const [path, byte, type] = process.argv.slice(1)
const lock = new DataView(new ArrayBuffer(32))
lock.setInt16(0, Number(type), true)
lock.setBigInt64(8, BigInt(byte), true)
lock.setBigInt64(16, 1n, true)
const handle = require('node:fs').openSync(path + '-shm', 'r+')
const { symbols } = dlopen('libc.so.6', { fcntl: { args: ['i32', 'i32', 'ptr'], returns: 'i32' } })
console.log(symbols.fcntl(handle, 6, ptr(lock)))
require('node:fs').readFileSync(0)
`

/** What is seen while another process has the lock. */
async function seenWhile(lock: CheckpointLock, path: string, byte: number, type: 'read' | 'write'): Promise<boolean> {
  const holder = Bun.spawn([process.execPath, '-e', HOLDER, path, String(byte), type === 'read' ? '0' : '1'], {
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const { value } = await holder.stdout.getReader().read()
  expect(Buffer.from(value ?? []).toString()).toBe('0\n')
  const isHeld = lock.isHeld()
  await holder.stdin.end()
  await holder.exited
  return isHeld
}

test.if(process.platform === 'linux')('the lock of a checkpoint of another process is seen for as long as it lasts', async () => {
  const path = makePath()
  const lock = new CheckpointLock(path)
  expect(lock.isHeld()).toBeFalse()
  for (let opening = 0; opening < 2; opening++) {
    // The handle that the opening before had is another file's by now.
    const others = opening === 0 ? [] : Array.from({ length: 20 }, () => openSync(import.meta.path, 'r'))
    const db = openDatabase(path, 'create')
    if ('problem' in db) throw new Error(db.message)
    try {
      expect(lock.isHeld()).toBeFalse()
      expect(await seenWhile(lock, path, 121, 'write')).toBeTrue()
      expect(lock.isHeld()).toBeFalse()
      // A writer's lock, and a reader's.
      expect(await seenWhile(lock, path, 120, 'write')).toBeFalse()
      expect(await seenWhile(lock, path, 124, 'read')).toBeFalse()
    } finally {
      db.close()
      for (const handle of others) closeSync(handle)
    }
    // With the last connection the index of the log is gone; the next one makes another.
    expect(lock.isHeld()).toBeFalse()
  }
})
