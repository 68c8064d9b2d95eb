/**
 * Replaces the process by the same program, once, with a variable that Bun reads only at its start: how many connections `fetch` may have. The pid stays, so a
 * supervisor notices nothing. The replacement must come before any thread, lock or open file. Rules: platform.md "Bun's fetch", "Process".
 */

import { BEGUN_WITH } from './begun-with.ts'
import type { CliEnvironment } from './environment.ts'

const MAX_REQUESTS = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/** The most that Bun allows. */
const MAX_REQUESTS_VALUE = '65535'

/** Does not return where it replaces the process. */
export function reexecute(env: CliEnvironment['env']): void {
  if (env[MAX_REQUESTS] !== undefined) return
  process.execve?.(process.execPath, [...ownCommand(process.argv.slice(2))], {
    ...BEGUN_WITH,
    ...env,
    [MAX_REQUESTS]: MAX_REQUESTS_VALUE,
  } as NodeJS.ProcessEnv)
}

/** The command line of this program with other arguments. */
export const ownCommand = (args: readonly string[]): readonly string[] => [process.execPath, ...(isCompiled() ? [] : [Bun.main]), ...args]

const isCompiled = (): boolean => Bun.main.includes('/$bunfs/')
