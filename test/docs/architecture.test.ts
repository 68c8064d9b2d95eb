/**
 * The page and the picture of the architecture are those of the code: every file that they name exists, every thread and every file beside the ledger stands in
 * both, and each step of a request and of a receipt is code that the step before it can reach. Rules: house.md "Layers".
 */

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'

const page = await Bun.file('src/docs/rules/architecture.md').text()
const picture = await Bun.file('.github/pictures/architecture.svg').text()
const FILE = /\b(?:src|db)\/[\w./-]+/g
const filesIn = (text: string): readonly string[] => [...new Set(text.match(FILE))].map((path) => path.replace(/[./]$/, ''))
const partOf = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''

const sources = await Promise.all(
  [...new Glob('{src,db}/**/*.{ts,tsx}').scanSync('.')].map(async (path) => ({ path, text: await Bun.file(path).text() })),
)
const importsOf = new Map(
  sources.map(({ path, text }) => [
    path,
    [...text.matchAll(/(?:from |import\()'(\.[^']+\.tsx?)'/g)].map(([, target = '']) => join(dirname(path), target)),
  ]),
)

function reachableFrom(start: string): ReadonlySet<string> {
  const seen = new Set<string>()
  const follow = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    for (const target of importsOf.get(path) ?? []) follow(target)
  }
  follow(start)
  return seen
}

test('every file that the page and the picture name exists', () => {
  const named = [...filesIn(page), ...filesIn(picture)]
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((path) => !existsSync(path))).toEqual([])
})

test('every thread that the code starts stands in the page and in the picture, and no other', () => {
  const started = new Set(
    sources.flatMap(({ path, text }) =>
      [...text.matchAll(/new Worker\(new URL\('([^']+)'/g)].map(([, target = '']) => join(dirname(path), target)),
    ),
  )
  const inTable = [...partOf('Processes and threads').matchAll(/^\| [^|]+ \| `([^`]+)` \|/gm)].map(([, path = '']) => path)
  expect([...new Set(inTable)].sort()).toEqual([...started, 'src/main.ts'].sort())
  expect([...started].filter((path) => !filesIn(picture).includes(path))).toEqual([])
})

test('every file beside the ledger stands in the page and in the picture, with the code that makes it', () => {
  const made = new Set(
    sources.flatMap(({ text }) => [...text.matchAll(/PathOf = \([^)]*\): string => `[^`]*(\.[a-z-]+)`/g)].map(([, end = '']) => end)),
  )
  expect(made.size).toBeGreaterThan(3)
  const table = partOf('Files beside the ledger')
  expect([...made].filter((end) => !table.includes(`| \`${end}\` |`))).toEqual([])
  for (const [, end = ''] of table.matchAll(/^\| `(\.[a-z-]+)`/gm)) expect(picture).toContain(`tollgate.db${end}<`)
})

test('what a request and a receipt pass is reached from where they begin', () => {
  const gateway = new Set([...reachableFrom('src/gateway.ts'), ...reachableFrom('src/http/app.ts')])
  const thread = reachableFrom('src/ledger/thread.ts')
  const program = reachableFrom('src/main.ts')
  expect(filesIn(partOf('A request')).filter((path) => !gateway.has(path))).toEqual([])
  const steps = partOf('A receipt')
    .split(/^\d\. /m)
    .slice(1)
  const onThread = steps.findIndex((step) => step.includes('src/ledger/thread.ts'))
  expect(onThread).toBeGreaterThan(0)
  expect(steps.slice(0, onThread).flatMap((step) => filesIn(step).filter((path) => !gateway.has(path)))).toEqual([])
  expect(steps.slice(onThread, -1).flatMap((step) => filesIn(step).filter((path) => !thread.has(path)))).toEqual([])
  expect(filesIn(steps.at(-1) ?? '').filter((path) => !program.has(path))).toEqual([])
})
