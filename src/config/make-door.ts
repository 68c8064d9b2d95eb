/** The kind of an upstream: its address and what else its door has to know. Rules: doors.md "Kinds"; operator.md "Configuration". */

import type { DoorSettings, Kind } from '../core/door.ts'
import type { UpstreamEntry } from './catalog-schema.ts'
import type { UpstreamConfig } from './config.ts'
import { CHAT_SETTINGS, type ChatSetting, makeChatDoor } from './make-chat-door.ts'
import type { ConfigProblem } from './problems.ts'

/** Settings that some kinds alone have. */
type OwnSetting = 'region' | 'workspace' | 'resource' | ChatSetting

type KindRules = Readonly<{
  takes: readonly OwnSetting[]
  auth: UpstreamConfig['auth']
  /** The address where no `base_url` is set; without one it is to be set. `from`: the setting that makes it. */
  address?: Readonly<{ from: 'region' | 'resource'; of: (value: string) => string }>
}>

const RULES: Readonly<Record<Kind, KindRules>> = {
  native: { takes: [], auth: 'x-api-key' },
  openai: { takes: CHAT_SETTINGS, auth: 'bearer' },
  'claude-aws': {
    takes: ['region', 'workspace'],
    auth: 'bearer',
    address: { from: 'region', of: (region) => `https://aws-external-anthropic.${region}.api.aws` },
  },
  foundry: {
    takes: ['resource'],
    auth: 'x-api-key',
    address: { from: 'resource', of: (resource) => `https://${resource}.services.ai.azure.com/anthropic` },
  },
}

const OWN: readonly OwnSetting[] = ['region', 'workspace', 'resource', ...CHAT_SETTINGS]

const kindOf = ({ kind = 'native' }: Pick<UpstreamEntry, 'kind'>): Kind => kind

/** How a server of this kind reads our key, unless `auth` says otherwise. */
export const authOf = (entry: UpstreamEntry): UpstreamConfig['auth'] => entry.auth ?? RULES[kindOf(entry)].auth

/** The address as it is written, or the kind's own; undefined: a mistake, which `makeDoor` names. */
export function addressOf(entry: Omit<UpstreamEntry, 'name'>): string | undefined {
  const { address } = RULES[kindOf(entry)]
  const value = address === undefined ? undefined : entry[address.from]
  return entry.base_url ?? (address === undefined || value === undefined ? undefined : address.of(value))
}

/** `path`: of the upstream, such as `upstreams[0]`. Every mistake is added to `problems`. */
export function makeDoor(entry: UpstreamEntry, path: string, problems: ConfigProblem[]): DoorSettings {
  const kind = kindOf(entry)
  const { takes, address } = RULES[kind]
  for (const name of OWN) {
    if (entry[name] === undefined || takes.includes(name)) continue
    const kinds = Object.entries(RULES).flatMap(([one, rules]) => (rules.takes.includes(name) ? [one] : []))
    problems.push({ path: `${path}.${name}`, message: `expected kind = "${kinds.join('" or "')}" beside it` })
  }
  if (addressOf(entry) === undefined) {
    problems.push(
      address === undefined
        ? { path: `${path}.base_url`, message: 'expected an http or https address, found nothing' }
        : { path: `${path}.${address.from}`, message: `expected ${address.from} or base_url, found nothing` },
    )
  }
  switch (kind) {
    case 'native':
    case 'foundry':
      return { kind }
    case 'openai':
      return makeChatDoor(entry, path, problems)
    case 'claude-aws':
      if (entry.workspace === undefined)
        problems.push({ path: `${path}.workspace`, message: 'expected the id of a workspace, found nothing' })
      return { kind, workspace: entry.workspace ?? '' }
  }
}
