/**
 * `bun run release [--dry] [--target NAME]…`: everything that a release has, in dist/release, out of the commit that is checked out. Without `--dry` also its
 * image and its upload, which need the tag, Docker and GitHub's `gh`: .github/workflows/release.yml has them. Rules: operator.md "Releases".
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { BunLockFile } from 'bun'
import packageFile from '../../package.json' with { type: 'json' }
import { commitOf } from '../../src/cli/version.ts'
import { billOf } from './bill.ts'
import { compile, hasDocker, pack, tryOut } from './binary.ts'
import { command, git, ROOT, succeeds } from './command.ts'
import { type History, notesOf } from './notes.ts'
import { archiveOf, BILL, IMAGE_PLATFORMS, SUMS, TARGETS, type Target } from './targets.ts'

const FOLDER = join(ROOT, 'dist/release')
const NOTES = 'NOTES.md'
const VERSION = packageFile.version
const TAG = `v${VERSION}`
/** An install line that asks for the latest release does not get it. */
const IS_EARLY = VERSION.includes('-')

function main(): void {
  const { values } = parseArgs({ options: { dry: { type: 'boolean', default: false }, target: { type: 'string', multiple: true } } })
  const commit = commitOf(ROOT)
  const committedAt = git('log', '-1', '--format=%cI')
  const repository = process.env['GITHUB_REPOSITORY'] ?? 'OWNER/tollgate'
  if (!values.dry) requireRelease(commit, values.target)
  const targets = chosen(values.target)
  rmSync(FOLDER, { recursive: true, force: true })
  const inDocker = hasDocker()
  for (const target of targets) makeArchive(target, { commit, committedAt, inDocker, isDry: values.dry })
  const lock = Bun.JSONC.parse(readFileSync(join(ROOT, 'bun.lock'), 'utf8')) as BunLockFile
  write(BILL, `${JSON.stringify(billOf(lock, { version: VERSION, commit, committedAt, bunVersion: Bun.version }), null, 2)}\n`)
  write(SUMS, sums())
  write(NOTES, notesOf({ repository, version: VERSION, commit }, history()))
  if (values.dry) say('image, upload: not made (--dry)')
  else publish(repository, commit)
}

/** What is released is what the tag names. */
function requireRelease(commit: string, targets: readonly string[] | undefined): void {
  if (targets !== undefined) throw new Error('a release has every target: --target is for --dry')
  if (commit === '' || commit.endsWith('-dirty')) throw new Error('a release is made of a commit, with nothing changed')
  if (!succeeds(['git', 'rev-parse', '--verify', '--quiet', `refs/tags/${TAG}`]))
    throw new Error(`package.json says ${VERSION}, and there is no tag ${TAG}`)
  if (git('rev-parse', `${TAG}^{commit}`) !== git('rev-parse', 'HEAD'))
    throw new Error(`${TAG} names another commit than the one that is checked out`)
}

function chosen(names: readonly string[] | undefined): readonly Target[] {
  const unknown = names?.find((name) => !TARGETS.some((target) => target.name === name))
  if (unknown !== undefined) throw new Error(`there is no target ${unknown}, only ${TARGETS.map(({ name }) => name).join(', ')}`)
  return TARGETS.filter(({ name }) => names?.includes(name) ?? true)
}

type Making = Readonly<{ commit: string; committedAt: string; inDocker: boolean; isDry: boolean }>

function makeArchive(target: Target, { commit, committedAt, inDocker, isDry }: Making): void {
  const folder = join(FOLDER, 'binaries', target.name)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'tollgate')
  compile(target, file, commit)
  const { ran, where } = tryOut(target, { file, says: `${VERSION} (${commit})`, inDocker })
  if (!ran && target.place !== undefined && !isDry) throw new Error(`${target.name} was ${where}`)
  const archive = join(FOLDER, archiveOf(target))
  pack(file, archive, committedAt)
  say(`${archiveOf(target)}: ${(statSync(archive).size / 1e6).toFixed(1)} MB, ${where}`)
}

/** What is uploaded, without the notes. */
const assets = (): readonly string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.startsWith('tollgate') || name === SUMS)
    .sort()

/** As `sha256sum --check` reads them. */
function sums(): string {
  const line = (name: string): string =>
    `${new Bun.CryptoHasher('sha256').update(readFileSync(join(FOLDER, name))).digest('hex')}  ${name}\n`
  return assets().map(line).join('')
}

function history(): History {
  const before = ['git', 'describe', '--tags', '--abbrev=0', '--match=v*', 'HEAD^']
  const since = succeeds(before) ? command(before) : undefined
  if (since === undefined) return { since, subjects: [] }
  return { since, subjects: git('log', '--no-merges', '--reverse', '--format=%s', `${since}..HEAD`).split('\n').filter(Boolean) }
}

function publish(repository: string, commit: string): void {
  const image = `ghcr.io/${repository.toLowerCase()}`
  const tags = [VERSION, ...(IS_EARLY ? [] : ['latest'])].flatMap((tag) => ['--tag', `${image}:${tag}`])
  const labels = [
    '--label',
    `org.opencontainers.image.source=https://github.com/${repository}`,
    '--label',
    `org.opencontainers.image.revision=${commit}`,
  ]
  const platforms = ['--platform', IMAGE_PLATFORMS.join(',')]
  const given = ['--file', '.deploy/Containerfile', '--build-arg', `COMMIT=${commit}`]
  command(['docker', 'buildx', 'build', '--push', ...platforms, ...given, ...tags, ...labels, '.'])
  say(`${image}:${VERSION}`)
  const files = assets().map((name) => join(FOLDER, name))
  const about = ['--verify-tag', '--title', TAG, '--notes-file', join(FOLDER, NOTES), ...(IS_EARLY ? ['--prerelease'] : [])]
  say(command(['gh', 'release', 'create', TAG, ...about, ...files]))
}

function write(name: string, text: string): void {
  writeFileSync(join(FOLDER, name), text)
  say(name)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

try {
  main()
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
