/** The models of another file, for their prices alone: checked as the configuration is, but without secrets and without a ledger. Rules: money.md "What if". */

import { resolve } from 'node:path'
import type { Model } from '../core/catalog.ts'
import { readShape } from './load.ts'
import { makeCatalog } from './make-catalog.ts'
import { makeUpstreams } from './make-upstreams.ts'
import type { ConfigProblem, ConfigProblems } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** `file`: relative to `folder`. */
export function loadModels(file: string, folder: string): ReadonlyMap<string, Model> | ConfigProblems {
  const path = resolve(folder, file)
  const read = readShape(path, true)
  if ('problems' in read) return read
  const problems: ConfigProblem[] = []
  if (read.entry.models === undefined) problems.push({ path: 'models', message: 'expected tables, each written [[models]], found nothing' })
  makeUpstreams(read.entry.upstreams ?? [], () => undefined, problems)
  const { models } = makeCatalog(withoutServers(read.entry), problems)
  return problems.length > 0 ? { file: path, problems } : models
}

/** Models alone may name upstreams that stand in another file. */
function withoutServers(entry: ConfigFile): ConfigFile {
  if (entry.upstreams !== undefined) return entry
  const models = (entry.models ?? []).map(({ upstreams: _, rejects: _r, ...model }) => model)
  return { ...entry, models }
}
