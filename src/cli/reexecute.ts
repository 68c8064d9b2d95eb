/**
 * Replaces the process by itself, once, with an environment that can only be set before it starts: how many connections `fetch` may have. Same pid, so a
 * supervisor notices nothing. Must run before any thread, lock or open file. Rules: platform.md "Bun's fetch", "Process".
 */

import type { CliEnvironment } from './environment.ts'

const MAX_REQUESTS = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/** Bun's own ceiling. */
const MAX_REQUESTS_VALUE = '65535'

/** Does not return when it re-executes. */
export function reexecute(env: CliEnvironment['env']): void {
  if (env[MAX_REQUESTS] !== undefined) return
  process.execve?.(process.execPath, [...ownCommand(process.argv.slice(2))], {
    ...env,
    [MAX_REQUESTS]: MAX_REQUESTS_VALUE,
  } as NodeJS.ProcessEnv)
}

/** This program again, with other arguments. */
export const ownCommand = (args: readonly string[]): readonly string[] => [process.execPath, ...(isCompiled() ? [] : [Bun.main]), ...args]

const isCompiled = (): boolean => Bun.main.includes('/$bunfs/')
