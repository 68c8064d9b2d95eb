/** The binary of a target: compiled, run once where this machine can, and packed. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { command, succeeds } from './command.ts'
import type { Place, Target } from './targets.ts'

export function compile({ name }: Target, file: string, commit: string): void {
  command([process.execPath, 'run', 'build', `--target=bun-${name}`, '--outfile', file], { env: { TOLLGATE_COMMIT: commit } })
}

/** Threads, a ledger that is made and written, and its books: in the working folder. */
const TRIAL = 'tollgate --version && tollgate keys create --name trial --balance 1 >&2 && tollgate verify >&2'

export const hasDocker = (): boolean => succeeds(['docker', 'info'])

type Trial = Readonly<{ file: string /** What `--version` prints. */; says: string; inDocker: boolean }>

/** Where it ran, or why it did not; throws where it ran and is not what it should be. */
export function tryOut(target: Target, { file, says, inDocker }: Trial): Readonly<{ ran: boolean; where: string }> {
  if (target.place === undefined) return { ran: false, where: 'not run: no container has this system' }
  if (!inDocker && target.name !== `${process.platform}-${process.arch}`) return { ran: false, where: 'not run: no Docker here' }
  const said = inDocker ? runInContainer(target.place, file) : runHere(file)
  if (said !== says) throw new Error(`${target.name} says ${said}, not ${says}`)
  return { ran: true, where: inDocker ? `ran on ${target.place.image}, ${target.place.platform}` : 'ran here' }
}

function runInContainer({ platform, image, install }: Place, file: string): string {
  const script = `cd "$(mktemp -d)" && ${install === undefined ? '' : `${install} >&2 && `}${TRIAL}`
  const mount = ['--volume', `${file}:/usr/local/bin/tollgate:ro`]
  return command(['docker', 'run', '--rm', '--platform', platform, ...mount, image, 'sh', '-c', script])
}

function runHere(file: string): string {
  const cwd = mkdtempSync(join(tmpdir(), 'tollgate-trial-'))
  try {
    return command(['sh', '-c', TRIAL], { cwd, env: { PATH: `${dirname(file)}:${process.env['PATH']}` } })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

/** Nothing of this machine is in the archive. `at`: ISO 8601. */
export function pack(file: string, archive: string, at: string): void {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=755', `--mtime=${at}`]
  command(['tar', ...owner, '--use-compress-program=gzip -9n', '-cf', archive, '-C', dirname(file), 'tollgate'])
}
