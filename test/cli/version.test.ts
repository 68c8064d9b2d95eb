/** `tollgate --version` names the version and the commit, from a checkout, and never fails. Rules: operator.md "Releases". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import packageFile from '../../package.json' with { type: 'json' }
import { commitOf } from '../../src/cli/version.ts'
import { SOURCE } from '../crash/process.ts'
import { ROOT } from '../support/made-once.ts'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

function git(folder: string, ...words: string[]): string {
  const named = ['-c', 'user.name=x', '-c', 'user.email=x@example.com']
  const { exitCode, stdout, stderr } = Bun.spawnSync(['git', '-C', folder, ...named, ...words])
  if (exitCode !== 0) throw new Error(stderr.toString())
  return stdout.toString().trim()
}

test('a checkout is asked itself: its commit, what is changed in it, and never the one that it lies in', () => {
  place.write('file', '1')
  git(place.folder, 'init', '--quiet')
  expect(commitOf(place.folder)).toBe('')
  git(place.folder, 'add', '.')
  git(place.folder, 'commit', '--quiet', '--message', 'one')
  git(place.folder, 'tag', 'v9.9.9')
  const commit = git(place.folder, 'rev-parse', '--short=12', 'HEAD')
  expect(commitOf(place.folder)).toBe(commit)
  place.write('file', '2')
  expect(commitOf(place.folder)).toBe(`${commit}-dirty`)
  mkdirSync(join(place.folder, 'inner'))
  expect(commitOf(join(place.folder, 'inner'))).toBe('')
  expect(commitOf(join(place.folder, 'nowhere'))).toBe('')
})

test('without git the version stands alone', () => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...SOURCE, '--version'], { env: { PATH: place.folder } })
  expect({ exitCode, out: stdout.toString(), err: stderr.toString() }).toEqual({ exitCode: 0, out: `${packageFile.version}\n`, err: '' })
})

test('the version and the commit, on stdout, before whatever else is asked', async () => {
  const commit = commitOf(ROOT)
  const line = commit === '' ? packageFile.version : `${packageFile.version} (${commit})`
  for (const argv of [['--version'], ['-V', 'keys', 'list']])
    expect(await place.run(...argv)).toEqual({ code: 0, out: `${line}\n`, err: '' })
})
