/** The command line as a whole: exit codes, wrong use, help, and a ledger that is missing or none. Each command has a file of its own. Rules: operator.md "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

test('wrong use is 2 with one sentence on stderr and nothing on stdout', async () => {
  for (const [argv, message] of [
    [['keys', 'list', '--colour'], "unknown option '--colour'"],
    [['keys', 'lst'], "unknown command 'lst'"],
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['keys', 'show'], "missing required argument 'KEY'"],
    [['keys', 'show', 'a', 'b'], 'too many arguments'],
    [['keys', 'extend', 'a'], "required option '--days <N>' not specified"],
    [['simulate'], "required option '--port <N>' not specified"],
    [['simulate', '--port', '65536'], 'from 0 to 65535'],
    [['serve', '--port', 'http'], 'from 0 to 65535'],
    [['keys', 'list', '--config', 'nowhere.toml'], 'there is no such file'],
    [['--config', 'nowhere.toml', 'keys', 'list'], 'there is no such file'],
  ] as const) {
    const { code, out, err } = await place.run(...argv)
    expect(code, argv.join(' ')).toBe(2)
    expect(out).toBe('')
    expect(err).toStartWith('tollgate: ')
    expect(err).toContain(message)
  }
})

test('an argument that is repeated moves no cursor, colours nothing and turns no line', async () => {
  for (const [argument, shown] of [
    ['\u001b[31mred\u0007', '\\u001b[31mred\\u0007'],
    ['a\rb\u009b', 'a\\u000db\\u009b'],
    ['a\u202eb\u2028c', 'a\\u202eb\\u2028c'],
  ] as const) {
    await place.run('keys', 'create')
    expect(await place.run('keys', 'show', argument)).toEqual({ code: 2, out: '', err: `tollgate: there is no key ${shown}\n` })
    expect((await place.run(argument)).err).toContain(shown)
  }
})

test('help and version are 0 on stdout and name every command', async () => {
  const { code, out } = await place.run('--help')
  expect(code).toBe(0)
  for (const name of ['serve', 'simulate', 'keys', 'accounts', 'usage', 'verify', 'backup', 'doctor', 'check-config', '--config'])
    expect(out).toContain(name)
  expect((await place.run('keys', 'create', '--help')).out).toContain('--config <FILE>')
  expect(await place.run('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+(?: \(\S+\))?\n$/) })
  expect((await place.run()).code).toBe(2)
})

test('reads and changes need a ledger; only create makes one', async () => {
  for (const argv of [
    ['keys', 'list'],
    ['keys', 'show', 'x'],
    ['keys', 'disable', 'x'],
    ['keys', 'create', '--account', 'x'],
    ['accounts', 'list'],
    ['accounts', 'top-up', 'x', '1'],
    ['usage'],
    ['verify'],
    ['backup', 'copy.db'],
  ]) {
    const { code, out, err } = await place.run(...argv)
    expect(code, argv.join(' ')).toBe(3)
    expect(out).toBe('')
    expect(err).toMatch(/^tollgate: there is no ledger at .*\n$/)
  }
  expect(existsSync(place.ledgerPath)).toBeFalse()
})

test('a file that is no ledger is 3', async () => {
  place.write('other.db', 'not a database, but long enough to be looked at as one: '.repeat(50))
  place.write('other.toml', '[ledger]\npath = "other.db"\n')
  for (const argv of [['keys', 'list'], ['verify'], ['keys', 'create']])
    expect((await place.run(...argv, '--config', 'other.toml')).code, argv.join(' ')).toBe(3)
})

test('what reads the configuration refuses one with mistakes, by name', async () => {
  place.write('tollgate.toml', 'x = 1\n')
  for (const argv of [['keys', 'list'], ['accounts', 'create', 'a'], ['usage'], ['verify'], ['backup', 'copy.db']])
    expect(await place.run(...argv)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/^tollgate: .*tollgate\.toml has mistakes: x: unknown name.*\n$/),
    })
  expect(existsSync(place.ledgerPath)).toBeFalse()
})
