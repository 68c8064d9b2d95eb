/** The compiled program is the one that a release takes it for: it says its commit wherever it is, and a binary that does not run or is another is never packed. Rules: operator.md "Releases". */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pack, tryOut } from '../../.deploy/release/binary.ts'
import { TARGETS, type Target } from '../../.deploy/release/targets.ts'
import packageFile from '../../package.json' with { type: 'json' }
import { commitOf, DESCRIBE } from '../../src/cli/version.ts'
import { ROOT } from '../support/made-once.ts'
import { PROGRAM } from './compiled.ts'
import { PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

const [program = ''] = PROGRAM
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function version(): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([program, '--version'], { cwd: folder, env: {} })
  expect({ exitCode, err: stderr.toString() }).toEqual({ exitCode: 0, err: '' })
  return stdout.toString().trimEnd()
}

test('a build asks git as a checkout does, and the program knows its commit without it', () => {
  expect(packageFile.scripts.build).toContain(`$(git ${DESCRIBE.join(' ').replace('*', "'*'")} 2>/dev/null)`)
  expect(version()).toMatch(commitOf(ROOT) === '' ? /^\S+$/ : /^\d+\.\d+\.\d+ \([0-9a-f]{12}(?:-dirty)?\)$/)
})

const HERE: Target = { name: `${process.platform}-${process.arch}`, place: { platform: 'linux/amd64', image: 'none' } }
const ELSEWHERE = TARGETS.filter(({ name }) => name !== HERE.name)

test('the program is tried out here; one that fails or says another version is refused; one for another system does not run', () => {
  const says = version()
  expect(tryOut(HERE, { file: program, says, inDocker: false })).toEqual({ ran: true, where: 'ran here' })
  expect(() => tryOut(HERE, { file: program, says: '9.9.9 (abc)', inDocker: false })).toThrow(`says ${says}, not 9.9.9 (abc)`)
  const broken = join(folder, 'tollgate')
  writeFileSync(broken, `#!/bin/sh\n[ "$1" = --version ] && echo '${says}' || { echo 'no ledger can be made' >&2; exit 1; }\n`)
  chmodSync(broken, 0o755)
  expect(() => tryOut(HERE, { file: broken, says, inDocker: false })).toThrow('no ledger can be made')
  expect(ELSEWHERE.length).toBeGreaterThanOrEqual(5)
  for (const target of ELSEWHERE) expect(tryOut(target, { file: program, says, inDocker: false }).ran).toBe(false)
})

// Another tar than GNU's knows these words otherwise; a release is made on Linux.
test.skipIf(process.platform !== 'linux')(
  'an archive holds the program alone, may be run by everybody, and is the same from whatever machine',
  () => {
    const archives = ['one', 'two'].map((name) => {
      const file = join(folder, 'tollgate')
      writeFileSync(file, 'x'.repeat(100_000))
      chmodSync(file, name === 'one' ? 0o700 : 0o644)
      const archive = join(folder, `${name}.tar.gz`)
      pack(file, archive, '2026-11-24T00:00:00+00:00')
      return archive
    })
    const [one = '', two = ''] = archives
    const listed = Bun.spawnSync(['tar', '-tvzf', one], { env: { TZ: 'UTC', PATH: process.env['PATH'] } }).stdout.toString()
    expect(listed).toMatch(/^-rwxr-xr-x 0\/0 +100000 2026-11-24 00:00 tollgate\n$/)
    expect(Bun.spawnSync(['cmp', one, two]).exitCode).toBe(0)
  },
)
