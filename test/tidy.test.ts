/**
 * The house keeps its form: imports point down and never in a circle, the core is pure, every file says what it holds and every test file what it protects,
 * the tests stand as the sources do, and each command has a test file. Rules: house.md "Layers".
 */

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Glob } from 'bun'

/** house.md "Layers": a folder imports from its own layer's folder or from below, never from above or from a neighbour of the same layer. */
const LAYER: Readonly<Record<string, number>> = {
  core: 0,
  db: 1,
  ledger: 2,
  upstream: 2,
  simulator: 2,
  observe: 2,
  config: 2,
  docs: 2,
  people: 2,
  answers: 2,
  history: 2,
  operator: 3,
  payments: 3,
  world: 3,
  relay: 3,
  alerts: 3,
  telegram: 3,
  http: 4,
  web: 4,
  members: 4,
  gauges: 4,
  'answers-beside': 4,
  'history-beside': 4,
  'timer-wheel-driver': 2,
  'real-world': 4,
  'ledger-of-gateway': 4,
  'relay-of-gateway': 4,
  departure: 4,
  listeners: 5,
  gateway: 5,
  'ledger-process': 5,
  'gateway-parts': 4,
  cli: 5,
  main: 5,
}
const MAY_IMPORT_DB = new Set(['db', 'ledger', 'people', 'answers', 'history', 'cli'])
/** The edges do not know each other; relay and http share the world. */
const NEIGHBOURS_ALLOWED = new Set([
  'relay world',
  'web http',
  'relay-of-gateway answers-beside',
  'gateway listeners',
  'ledger-process listeners',
  'cli ledger-process',
  'gateway-parts real-world',
  'cli gateway',
  'main cli',
])

/** The same inside `src/ledger`, where a file at its root is a room of its own. ledger.md "Rooms". */
const LEDGER_FLOOR: Readonly<Record<string, number>> = {
  columns: 0,
  operation: 0,
  libc: 0,
  nodes: 0,
  'shared-answers': 0,
  'shared-limits': 0,
  'shared-rates': 0,
  ledger: 1,
  place: 1,
  'counted-rates': 1,
  'key-state': 1,
  'lease-move': 1,
  task: 2,
  'thread-messages': 3,
  sql: 2,
  'debit-records': 3,
  chain: 3,
  operations: 4,
  reading: 4,
  writing: 5,
  admission: 5,
  'open-options': 6,
  relays: 7,
  sqlite: 7,
  postgres: 7,
  open: 8,
  'open-for-reading': 8,
  'copy-to-postgres': 8,
  thread: 9,
  report: 9,
  restore: 10,
}

const BANNED: readonly { text: RegExp; instead: string; but?: string }[] = [
  { text: /\bTODO\b|\bFIXME\b|\bXXX\b/, instead: 'nothing: finish it or leave it out' },
  { text: /\.pipeThrough\((?!new DecompressionStream)/, instead: 'one stage: ClientStream around a Transcoder' },
  { text: /['"]transfer-encoding['"]/i, instead: 'nothing: Bun frames the body', but: 'src/upstream/http1-head.ts' },
  { text: /export default/, instead: 'a named export' },
  { text: /\bas any\b|: any[;,)[>]/, instead: 'unknown, narrowed' },
  { text: /(?:^|\s)enum /m, instead: 'a union of strings' },
]
const BANNED_IN_CORE: readonly RegExp[] = [
  /\bMath\.random\b/,
  /\bDate\.now\b/,
  /from '(?:bun|elysia|drizzle-orm|node:)/,
  /\bBun\./,
  /\bprocess\./,
]
const BANNED_NAMES = /(?:^|\/)(?:utils?|helpers?|common|misc|manager)\b/

type Source = { path: string; text: string; folder: string; imports: readonly string[] }

function roomOf(path: string): string {
  const [top = '', second = ''] = path.split('/')
  return top === 'db' ? 'db' : second.replace(/\.ts$/, '')
}

function sources(): Promise<readonly Source[]> {
  const paths = [...new Glob('{src,db}/**/*.{ts,tsx}').scanSync('.')].filter((path) => !path.endsWith('.d.ts'))
  return Promise.all(
    paths.map(async (path) => {
      const text = await Bun.file(path).text()
      const imports = [...text.matchAll(/(?:from |import\()'(\.[^']+\.tsx?)'/g)].map(([, target = '']) =>
        new URL(target, `file:///${path}`).pathname.slice(1),
      )
      return { path, text, folder: roomOf(path), imports }
    }),
  )
}

/** The rooms of a table of the rules, such as `| 2 | `task`, `sql/` | … |`, each with its floor. */
async function roomsShown(page: string, heading: string): Promise<Readonly<Record<string, number>>> {
  const table = (await Bun.file(`src/docs/rules/${page}`).text()).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const shown = [...table.matchAll(/^\| (\d+) \| ([^|]+) \|/gm)].flatMap(([, floor, rooms = '']) =>
    [...rooms.matchAll(/`([\w-]+)\/?`/g)].map(([, room = '']) => [room, Number(floor)] as const),
  )
  return Object.fromEntries(shown)
}

test('the layers, and the floors of the ledger, are those that the rules show', async () => {
  expect(await roomsShown('house.md', 'Layers')).toEqual(LAYER)
  expect(await roomsShown('ledger.md', 'Rooms')).toEqual(LEDGER_FLOOR)
})

test('imports point down the layers, and the edges do not know each other', async () => {
  const wrong: string[] = []
  for (const { path, folder, imports } of await sources()) {
    const from = LAYER[folder]
    if (from === undefined) wrong.push(`${path}: ${folder} is in no layer`)
    for (const target of imports) {
      const room = roomOf(target)
      if (room === folder || from === undefined) continue
      if (room === 'db' && !MAY_IMPORT_DB.has(folder)) wrong.push(`${path} imports ${target}`)
      const to = LAYER[room] ?? Number.POSITIVE_INFINITY
      if (to > from || (to === from && !NEIGHBOURS_ALLOWED.has(`${folder} ${room}`))) wrong.push(`${path} imports ${target}`)
    }
  }
  expect(wrong).toEqual([])
})

const ledgerRoomOf = (path: string): string => path.split('/')[2]?.replace(/\.ts$/, '') ?? ''

test('inside the ledger imports point down its rooms, and a room does not know one of its own floor', async () => {
  const wrong: string[] = []
  for (const { path, folder, imports } of await sources()) {
    if (folder !== 'ledger') continue
    const from = LEDGER_FLOOR[ledgerRoomOf(path)]
    if (from === undefined) wrong.push(`${path} is on no floor`)
    for (const target of imports) {
      if (roomOf(target) !== 'ledger' || ledgerRoomOf(target) === ledgerRoomOf(path) || from === undefined) continue
      const to = LEDGER_FLOOR[ledgerRoomOf(target)] ?? Number.POSITIVE_INFINITY
      if (to >= from) wrong.push(`${path} imports ${target}`)
    }
  }
  expect(wrong).toEqual([])
})

test('what the formats share of the vendor’s wire is in core/native: no format imports from another', async () => {
  const formatOf = (path: string): string | undefined => /^src\/core\/formats\/(\w+)\//.exec(path)?.[1]
  const isWrong = (from: string | undefined, to: string | undefined): boolean =>
    to !== undefined && from !== to && (from === undefined || to !== 'translate' || from === 'messages')
  const wrong: string[] = []
  for (const { path, folder, imports } of await sources()) {
    if (folder !== 'core') continue
    for (const target of imports) if (isWrong(formatOf(path), formatOf(target))) wrong.push(`${path} imports ${target}`)
  }
  expect(wrong).toEqual([])
})

test('no file imports itself by way of others', async () => {
  const importsOf = new Map((await sources()).map(({ path, imports }) => [path, imports]))
  const done = new Set<string>()
  const circles: string[] = []
  const follow = (path: string, way: readonly string[]): void => {
    const met = way.indexOf(path)
    if (met !== -1) circles.push([...way.slice(met), path].join(' → '))
    if (met !== -1 || done.has(path)) return
    for (const target of importsOf.get(path) ?? []) follow(target, [...way, path])
    done.add(path)
  }
  for (const path of importsOf.keys()) follow(path, [])
  expect(circles).toEqual([])
})

test('core is pure, and no source has a word that the house has banned', async () => {
  const wrong: string[] = []
  for (const { path, text, folder } of await sources()) {
    for (const { text: banned, instead, but } of BANNED)
      if (banned.test(text) && path !== but) wrong.push(`${path}: ${banned}, use ${instead}`)
    if (folder === 'core') for (const banned of BANNED_IN_CORE) if (banned.test(text)) wrong.push(`${path}: ${banned} in core`)
    if (BANNED_NAMES.test(path)) wrong.push(`${path}: a name that says nothing`)
  }
  expect(wrong).toEqual([])
})

/** Words of riddles: a comment and a page name the subject. Migrations that were released are never changed. */
const RIDDLES = /\b[Ww]ho(?:m)?ever\b|\b[Ss]omebody\b|\b[Ww]hat of (?:it|them)\b|\b[Nn]obody is\b/

test('comments, pages and what they show name their subjects', async () => {
  const paths = [...new Glob('{src,db}/**/*.{ts,tsx,md}').scanSync('.')]
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()))
  const lines = texts.flatMap((text, index) => text.split('\n').map((line) => ({ path: paths[index], line })))
  expect(lines.length).toBeGreaterThan(10_000)
  expect(lines.filter(({ line }) => RIDDLES.test(line)).map(({ path, line }) => `${path}: ${line.trim()}`)).toEqual([])
})

test('every file opens with a comment that says what it holds', async () => {
  const silent = (await sources()).filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path)
  expect(silent).toEqual([])
})

/** What tests share and what is protected from outside of the process or across all layers; everything else mirrors a folder of src. */
const TEST_FOLDERS = ['streams', 'requests', 'sdk', 'socket', 'crash', 'browser', 'sim', 'support', 'bench']

test('every test file opens with a comment that says what it protects', async () => {
  const paths = [...new Glob('test/**/*.ts').scanSync('.')]
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()))
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter((_, index) => !/^\/\*\*[\s*]+\S+ \S+/.test(texts[index] ?? ''))).toEqual([])
})

test('what is random in a test has a seed', async () => {
  const paths = [...new Glob('{test,bench}/**/*.ts').scanSync('.')]
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()))
  expect(paths.filter((_, index) => /Math\.random\(/.test(texts[index] ?? ''))).toEqual([])
})

test('the tests stand in the folders of what they protect', () => {
  const folders = new Set([...new Glob('test/**/*.ts').scanSync('.')].map((path) => dirname(path).split('/').slice(1).join('/')))
  const lost = [...folders].filter((folder) => !TEST_FOLDERS.includes(folder.split('/')[0] ?? '') && !existsSync(`src/${folder}`))
  expect(lost).toEqual([])
})

test('every command has a test file of its own', async () => {
  const texts = await Promise.all([...new Glob('src/cli/*.ts').scanSync('.')].map((path) => Bun.file(path).text()))
  const commands = texts.flatMap((text) => [...text.matchAll(/\bprogram\s*\.command\('([a-z-]+)'\)/g)].map(([, name = '']) => name))
  expect(commands.length).toBeGreaterThan(8)
  expect([...commands, 'up'].filter((name) => !existsSync(`test/cli/${name}.test.ts`))).toEqual([])
})

test('the top level holds what the customer named and nothing else', () => {
  const tracked = Bun.spawnSync(['git', 'ls-files']).stdout.toString().split('\n').filter(Boolean)
  const top = new Set(tracked.map((path) => path.split('/')[0] ?? ''))
  const allowed = new Set(['package.json', 'tsconfig.json', 'bunfig.toml', 'src', 'db', 'bench', 'test', 'README.md', 'bun.lock'])
  expect([...top].filter((name) => !allowed.has(name) && !name.startsWith('.'))).toEqual([])
})

test('dependencies are exact, and only those that CONTRIBUTING explains', async () => {
  const manifest = (await Bun.file('package.json').json()) as Record<'dependencies' | 'devDependencies', Record<string, string>>
  const reasons = await Bun.file('.github/CONTRIBUTING.md').text()
  const all = { ...manifest.dependencies, ...manifest.devDependencies }
  expect(Object.entries(all).filter(([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([])
  expect(Object.keys(manifest.dependencies).filter((name) => !reasons.includes(`\`${name}\``))).toEqual([])
})
