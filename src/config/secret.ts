/** Secrets come from the environment only, by the names of variables that the file gives. Rules: operator.md "Configuration". */

import type { ConfigProblem } from './problems.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The secret in the environment variable `variable`. `path` is that of the setting which names the variable, such as `upstreams[0].api_key_env`. */
export function secretOf(env: Environment, variable: string, path: string, problems: ConfigProblem[]): string | undefined {
  const secret = env[variable]
  if (secret === undefined || secret === '')
    problems.push({ path, message: `expected the secret in the environment variable ${variable}, which is not set` })
  else if (!/^[!-~]+$/.test(secret))
    problems.push({ path, message: `expected a secret of printable ASCII without spaces in ${variable}, found other characters` })
  return secret
}
