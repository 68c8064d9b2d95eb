/** Which upstreams serve a model, under which id, and in which format: those in the model's `upstreams`, else all. Rules: openai.md "Pools"; operator.md "Configuration". */

import type { Model, UpstreamModel } from '../core/catalog.ts'
import type { ChatDialect } from '../core/chat-dialect.ts'
import type { ModelEntry, UpstreamEntry } from './catalog-schema.ts'
import { chatDialectOf } from './make-chat-door.ts'
import { type ConfigProblem, describe } from './problems.ts'

export type ServedBy = Pick<Model, 'upstreams' | 'isNative' | 'chat'>

/** Abilities that only servers of the chat format can lack. */
const CHAT_REJECTIONS = new Set<string>(['images', 'documents', 'system', 'parallel_tools'])

/** An upstream without an id of its own for the model knows it by `upstream_model`, else by the public id. */
export function servedByOf(entry: ModelEntry, path: string, all: readonly UpstreamEntry[], problems: ConfigProblem[]): ServedBy {
  const { id, upstream_model, upstreams } = entry
  const model = upstream_model ?? id
  const names = [...new Set(all.map(({ name }) => name))]
  const named = (upstreams ?? names).map((upstream) =>
    typeof upstream === 'string' ? { name: upstream, model } : { name: upstream.name, model: upstream.model ?? model },
  )
  checkNames(named, path, names, problems)
  const chat: ChatDialect[] = []
  const served = named.map((one): UpstreamModel => {
    const upstream = all.find(({ name }) => name === one.name)
    return upstream?.kind === 'openai' ? { ...one, dialect: placeOf(chatDialectOf(upstream), chat) } : one
  })
  const isNative = served.length === 0 || served.some(({ dialect }) => dialect === undefined)
  if (upstreams === undefined && isNative && chat.length > 0)
    problems.push({
      path,
      message:
        'expected upstreams = […]: there are upstreams of kind "openai" and of others, and a model has both only where it names them',
    })
  for (const [index, rejection] of (entry.rejects ?? []).entries()) {
    if (CHAT_REJECTIONS.has(rejection) && chat.length === 0)
      problems.push({
        path: `${path}.rejects[${index}]`,
        message: `expected an upstream of kind "openai": others are not told "${rejection}"`,
      })
  }
  return { upstreams: served, isNative, chat }
}

/** The index of the dialect among the dialects of the model; equal dialects are kept once. */
function placeOf(dialect: ChatDialect, known: ChatDialect[]): number {
  const place = known.findIndex((one) => JSON.stringify(one) === JSON.stringify(dialect))
  return place === -1 ? known.push(dialect) - 1 : place
}

function checkNames(named: readonly UpstreamModel[], path: string, all: readonly string[], problems: ConfigProblem[]): void {
  for (const [index, { name }] of named.entries()) {
    const place = `${path}.upstreams[${index}]`
    if (!all.includes(name))
      problems.push({ path: place, message: `expected the name of one of the [[upstreams]], found ${describe(name)}` })
    if (named.findIndex((other) => other.name === name) !== index)
      problems.push({ path: place, message: `expected each upstream once, found ${describe(name)} again` })
  }
}
