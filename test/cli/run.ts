/** Runs commands in this process, in a folder of their own, with a clock that stands still. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CliEnvironment } from '../../src/cli/environment.ts'
import { runCli } from '../../src/cli/program.ts'
import { startThread } from '../support/threads.ts'

export const NOW = Date.UTC(2026, 10, 21, 12)
const startBodyThread = (): Worker => new Worker(new URL('../../src/relay/body-thread.ts', import.meta.url))
const startAnswersThread = (): Worker => new Worker(new URL('../../src/answers/thread.ts', import.meta.url))
const startHistoryThread = (): Worker => new Worker(new URL('../../src/history/thread.ts', import.meta.url))
const startPeopleThread = (): Worker => new Worker(new URL('../../src/people/thread.ts', import.meta.url))
const startSyncDriver = (): Worker => new Worker(new URL('../../src/ledger/postgres/sync-driver.ts', import.meta.url))

export type Ran = Readonly<{ code: number; out: string; err: string }>

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'))
  readonly ledgerPath = join(this.folder, 'data/tollgate.db')
  now = NOW
  env: Record<string, string> = {}

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  environment(stdout: (text: string) => void, stderr: (text: string) => void): Omit<CliEnvironment, 'verbatim'> {
    return {
      startThread,
      startSyncDriver,
      startBodyThread,
      startAnswersThread,
      startHistoryThread,
      startPeopleThread,
      env: this.env,
      stdout,
      stderr,
      folder: this.folder,
      now: () => this.now,
    }
  }

  async run(...argv: string[]): Promise<Ran> {
    let out = ''
    let err = ''
    const environment = this.environment(
      (text) => {
        out += text
      },
      (text) => {
        err += text
      },
    )
    const code = await runCli(argv, environment)
    return { code, out, err }
  }

  /** The document that a command prints with `--json`; the command must succeed. */
  async json<T = Record<string, unknown>>(...argv: string[]): Promise<T> {
    const { code, out, err } = await this.run(...argv, '--json')
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${err}`)
    return JSON.parse(out) as T
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
