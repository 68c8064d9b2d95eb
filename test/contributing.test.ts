/** What `.github/CONTRIBUTING.md` promises to be noticed when a step of it is forgotten, and no test of the thing itself can notice: lists in two places that must agree. */

import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { REFUSALS } from '../src/core/refusal.ts'
import { Workplace } from './cli/run.ts'
import { commandsOf } from './support/commands.ts'

const textOf = async (pattern: string): Promise<string> => {
  const paths = [...new Glob(pattern).scanSync({ cwd: '.', dot: true })].sort()
  return (await Promise.all(paths.map((path) => Bun.file(path).text()))).join('\n')
}

/** A page's part under a heading, up to the next one. */
const section = (page: string, heading: string): string => page.split(new RegExp(`^#+ ${heading}$`, 'm'))[1]?.split(/^#+ /m)[0] ?? ''

test('every refusal is a row of the contract, and the code uses it', async () => {
  const table = section(await Bun.file('src/docs/rules/contract.md').text(), 'Errors')
  const rows = table.split('\n').filter((line) => /^\| \d/.test(line))
  const isInContract = ({ status, type, message }: { status: number; type: string; message: string }): boolean =>
    rows.some((row) => row.includes(`${status}`) && row.includes(`\`${type}\``) && (status === 400 || row.includes(message)))
  expect(
    Object.entries(REFUSALS)
      .filter(([, row]) => !isInContract(row))
      .map(([name]) => name),
  ).toEqual([])
  const code = await textOf('src/**/*.ts')
  expect(Object.keys(REFUSALS).filter((name) => !code.includes(`'${name}'`))).toEqual([])
})

test('every command stands on the page of commands and is run by a test', async () => {
  const place = new Workplace()
  const page = await Bun.file('src/docs/operate/commands.md').text()
  const cells = [...page.matchAll(/^\| ((?:[^|]|\\\|)+) \|/gm)].map(([, cell = '']) => cell).join('\n')
  const tests = await textOf('test/{cli,crash}/*.ts')
  const unknown: string[] = []
  for (const { words, isGroup } of await commandsOf((...argv) => place.run(...argv))) {
    const name = words.at(-1) ?? ''
    if (!new RegExp(`\`(?:[a-z-]+ )?${name}(?![\\w-])`).test(cells))
      unknown.push(`${words.join(' ')} is not in src/docs/operate/commands.md`)
    if (!isGroup && !tests.includes(words.map((word) => `'${word}'`).join(', '))) unknown.push(`${words.join(' ')} is run by no test`)
  }
  place.remove()
  expect(unknown).toEqual([])
})

test('every metric is read by a test', async () => {
  const names = new Set((await textOf('src/**/*.ts')).match(/\btollgate_[a-z0-9_]+\b/g))
  const tests = await textOf('test/**/*.ts')
  expect(names.size).toBeGreaterThan(5)
  expect([...names].filter((name) => !tests.includes(name))).toEqual([])
})

test('every case of a request is one that the tests find', () => {
  const has = (path: string): boolean => [...new Glob(path).scanSync('.')].length > 0
  const cases = [...new Glob('*').scanSync({ cwd: 'test/requests', onlyFiles: false })]
  expect(cases.length).toBeGreaterThan(10)
  expect(cases.filter((name) => !has(`test/requests/${name}/{chat,responses}.json`) || !has(`test/requests/${name}/native.json`))).toEqual(
    [],
  )
})
