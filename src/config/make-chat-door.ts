/** The settings by which servers of the chat format differ, and what they may not say. Rules: openai.md "Settings"; operator.md "Configuration". */

import type { ChatDialect } from '../core/chat-dialect.ts'
import type { ChatDoorSettings } from '../core/door.ts'
import { OWN_FIELDS, REFUSED_FIELDS } from '../core/formats/chat/pass/fields.ts'
import type { UpstreamEntry } from './catalog-schema.ts'
import type { ConfigProblem } from './problems.ts'

const OF_NATIVE = ['dialect', 'versions', 'betas'] as const

export const CHAT_SETTINGS = ['reasoning', 'max_tokens_field', 'stream_usage', 'pass_fields', 'on_leave'] as const
export type ChatSetting = (typeof CHAT_SETTINGS)[number]

export function makeChatDoor(entry: UpstreamEntry, path: string, problems: ConfigProblem[]): ChatDoorSettings {
  for (const name of OF_NATIVE)
    if (entry[name] !== undefined) problems.push({ path: `${path}.${name}`, message: 'has no meaning with kind = "openai"' })
  if (entry.count_tokens === 'yes') problems.push({ path: `${path}.count_tokens`, message: 'expected no or estimate with kind = "openai"' })
  for (const [index, name] of (entry.drop_fields ?? []).entries())
    if (!/^\w+$/.test(name)) problems.push({ path: `${path}.drop_fields[${index}]`, message: 'expected the name of a top-level field' })
  checkFields(entry.drop_fields ?? [], NEEDED, `${path}.drop_fields`, 'expected a field that a request can do without', problems)
  checkFields(
    entry.pass_fields ?? [],
    NEVER_PASSED,
    `${path}.pass_fields`,
    'expected a field that changes no price, model, account or template',
    problems,
  )
  return { kind: 'openai', dialect: chatDialectOf(entry), isFinishedAlone: entry.on_leave !== 'abort' }
}

const NEEDED = new Set<string>(['model', 'messages', 'stream', ...OWN_FIELDS])
const NEVER_PASSED = new Set<string>([...REFUSED_FIELDS, ...NEEDED])

function checkFields(names: readonly string[], wrong: ReadonlySet<string>, path: string, message: string, problems: ConfigProblem[]): void {
  for (const [index, name] of names.entries())
    if (wrong.has(name)) problems.push({ path: `${path}[${index}]`, message: `${message}, found "${name}"` })
}

export const chatDialectOf = (entry: UpstreamEntry): ChatDialect => ({
  reasoning: entry.reasoning ?? 'auto',
  maxTokensField: entry.max_tokens_field ?? 'max_tokens',
  streamUsage: entry.stream_usage ?? true,
  dropFields: entry.drop_fields ?? [],
  passFields: entry.pass_fields ?? [],
})
