/** What an alarm tells of a bug: its name and its places, and nothing that somebody sent. Rules: requests.md "What never leaks"; platform.md "Rejections". */

import { expect, test } from 'bun:test'
import { describeBug } from '../../src/observe/bug.ts'

class OddError extends TypeError {
  override name = 'OddError'
  readonly code = 'EODD'
}

const thrownBy = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}

test('a bug is its name, its code and the places where it was thrown, the innermost first', () => {
  const fail = (): never => {
    throw new OddError('a canary')
  }
  const { error, code, at } = describeBug(thrownBy(() => fail()))
  expect([error, code]).toEqual(['OddError', 'EODD'])
  expect(at).toMatch(/^test\/observe\/bug\.test\.ts:\d+:\d+ < test\/observe\/bug\.test\.ts:\d+:\d+/)
  expect(at.split(' < ').length).toBeLessThanOrEqual(6)
})

/** Its stack is made of the words that it has now. */
const written = (error: Error): Error => (error.stack === undefined ? new Error('no stack') : error)

test('no word of a message is told, also of one that looks like a stack, was changed, or stands in the name or the code', () => {
  const faked = 'canary\n    at canary (/src/canary.ts:1:1)\n    at /src/canary.ts:2:2'
  const changed = written(new Error(faked))
  changed.message = 'another'
  const renamed = Object.assign(new Error('canary'), { name: 'canary of a customer', code: 'a canary' })
  const empty = Object.assign(written(new Error(faked)), { message: '' })
  const quoting = thrownBy(() => JSON.parse('{"canary": canary}'))
  const bugs = [
    new Error(faked),
    changed,
    renamed,
    empty,
    quoting,
    'canary',
    { canary: 1 },
    new Error(faked, { cause: new Error('canary') }),
  ]
  for (const bug of bugs) expect(JSON.stringify(describeBug(bug))).not.toContain('canary')
  for (const bug of [quoting, new Error(faked), new Error('')]) expect(describeBug(bug).at).toStartWith('test/observe/bug.test.ts:')
  expect(describeBug('canary')).toEqual({ error: 'string', at: '' })
  expect(describeBug(undefined)).toEqual({ error: 'undefined', at: '' })
})
