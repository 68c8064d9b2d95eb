/**
 * Replaces the process by itself, once, with an environment that can only be set before it starts. Same pid, so a supervisor notices nothing.
 * Must run before any thread, lock or open file. Rules: platform.md "Bun's fetch", "Process".
 */

import type { CliEnvironment } from './environment.ts'

const MAX_REQUESTS = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/** Bun's own ceiling. */
const MAX_REQUESTS_VALUE = '65535'
const PROXY = /^(https?|all)_proxy$/i

/** Does not return when it re-executes. `notify` is told what the operator set in vain. */
export function reexecute(env: CliEnvironment['env'], notify: (notice: string) => void): void {
  const proxies = Object.keys(env).filter((name) => PROXY.test(name) && env[name] !== '')
  if (env[MAX_REQUESTS] !== undefined && proxies.length === 0) return
  if (proxies.length > 0) notify(`${proxies.join(', ')} ignored: a proxy would see the upstream's key`)
  const kept = Object.entries(env).filter(([name]) => !proxies.includes(name))
  const args = isCompiled() ? process.argv.slice(2) : [Bun.main, ...process.argv.slice(2)]
  process.execve?.(process.execPath, [process.execPath, ...args], { [MAX_REQUESTS]: MAX_REQUESTS_VALUE, ...Object.fromEntries(kept) })
}

const isCompiled = (): boolean => Bun.main.includes('/$bunfs/')
