import { expect, test } from 'bun:test'
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
  operator: 3,
  world: 3,
  relay: 3,
  http: 4,
  gateway: 5,
  cli: 5,
  main: 5,
}
const MAY_IMPORT_DB = new Set(['db', 'ledger', 'cli'])
/** The edges do not know each other; relay and http share the world. */
const NEIGHBOURS_ALLOWED = new Set(['relay world', 'cli gateway', 'main cli'])

const BANNED: readonly { text: RegExp; instead: string }[] = [
  { text: /\bTODO\b|\bFIXME\b|\bXXX\b/, instead: 'nothing: finish it or leave it out' },
  { text: /\.pipeThrough\((?!new DecompressionStream)/, instead: 'one stage: ClientStream around a Transcoder' },
  { text: /['"]transfer-encoding['"]/i, instead: 'nothing: Bun frames the body' },
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
  const paths = [...new Glob('{src,db}/**/*.ts').scanSync('.')].filter((path) => !path.endsWith('.d.ts'))
  return Promise.all(
    paths.map(async (path) => {
      const text = await Bun.file(path).text()
      const imports = [...text.matchAll(/(?:from |import\()'(\.[^']+\.ts)'/g)].map(([, target = '']) =>
        new URL(target, `file:///${path}`).pathname.slice(1),
      )
      return { path, text, folder: roomOf(path), imports }
    }),
  )
}

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

test('core is pure, and no source has a word that the house has banned', async () => {
  const wrong: string[] = []
  for (const { path, text, folder } of await sources()) {
    for (const { text: banned, instead } of BANNED) if (banned.test(text)) wrong.push(`${path}: ${banned}, use ${instead}`)
    if (folder === 'core') for (const banned of BANNED_IN_CORE) if (banned.test(text)) wrong.push(`${path}: ${banned} in core`)
    if (BANNED_NAMES.test(path)) wrong.push(`${path}: a name that says nothing`)
  }
  expect(wrong).toEqual([])
})

test('every file opens with a comment that says what it holds', async () => {
  const silent = (await sources()).filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path)
  expect(silent).toEqual([])
})

test('the top level holds what the customer named and nothing else', () => {
  const tracked = Bun.spawnSync(['git', 'ls-files']).stdout.toString().split('\n').filter(Boolean)
  const top = new Set(tracked.map((path) => path.split('/')[0] ?? ''))
  const allowed = new Set(['package.json', 'tsconfig.json', 'bunfig.toml', 'src', 'db', 'bench', 'test', 'README.md', 'bun.lock'])
  expect([...top].filter((name) => !allowed.has(name) && !name.startsWith('.'))).toEqual([])
})

test('dependencies are exact, and only those that the README explains', async () => {
  const manifest = (await Bun.file('package.json').json()) as Record<'dependencies' | 'devDependencies', Record<string, string>>
  const readme = await Bun.file('README.md').text()
  const all = { ...manifest.dependencies, ...manifest.devDependencies }
  expect(Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
  expect(Object.keys(manifest.dependencies).filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
})
