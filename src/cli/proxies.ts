/**
 * Proxies that the environment names for every program: they would see an upstream's key, so only a configuration may name one. Rules: platform.md
 * "Bun's fetch".
 */

import type { Config } from '../config/config.ts'
import type { Environment } from '../config/secret.ts'

const PROXY = /^(https?|all|no)_proxy$/i

/** A copy of the process's environment. Variables that `fetch` would obey are removed from `env` itself, so this runs before anything fetches. */
export function takeEnvironment(env: Record<string, string | undefined>): Environment {
  const taken = { ...env }
  for (const name of Object.keys(env)) if (PROXY.test(name)) delete env[name]
  return taken
}

/** The variables that name a proxy which the configuration does not use. */
export const ignoredProxies = (env: Environment, { upstreams }: Config): readonly string[] =>
  Object.keys(env).filter(
    (name) => PROXY.test(name) && !/^no_/i.test(name) && env[name] !== '' && !upstreams.some(({ proxyUrl }) => proxyUrl === env[name]),
  )
