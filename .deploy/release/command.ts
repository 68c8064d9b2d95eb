/** Commands that a release is made with. What fails ends it, with what it said. */

import { join } from 'node:path'

export const ROOT = join(import.meta.dir, '../..')

export type Options = Readonly<{ env?: Readonly<Record<string, string>>; cwd?: string }>

/** What it prints, without the last line's end. */
export function command(words: readonly string[], { env = {}, cwd = ROOT }: Options = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words], { cwd, env: { ...process.env, ...env } })
  if (exitCode !== 0) throw new Error(`${words.slice(0, 4).join(' ')} … ended with ${exitCode}:\n${stdout}${stderr}`)
  return stdout.toString().trimEnd()
}

/** Whether it is here and succeeds. */
export function succeeds(words: readonly string[]): boolean {
  try {
    command(words)
    return true
  } catch {
    return false
  }
}

export const git = (...words: readonly string[]): string => command(['git', ...words])
