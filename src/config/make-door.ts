/** The kind of an upstream decides its address and the settings of its door. Rules: doors.md "Kinds"; operator.md "Configuration". */

import type { DoorSettings, Kind } from '../core/door.ts'
import type { UpstreamEntry } from './catalog-schema.ts'
import type { UpstreamConfig } from './config.ts'
import { CHAT_SETTINGS, type ChatSetting, makeChatDoor } from './make-chat-door.ts'
import { makeAwsProof, makeEntraProof, makeGoogleProof, type ProofContext } from './make-proof.ts'

const AWS = [
  'region',
  'credentials',
  'aws_access_key_id_env',
  'aws_secret_access_key_env',
  'aws_session_token_env',
  'signing_service',
] as const
const GOOGLE = ['project', 'credentials', 'service_account_env', 'token_url'] as const
const ENTRA = ['tenant', 'client_id', 'client_secret_env', 'token_url', 'token_scope'] as const

/** Settings that some kinds alone have. */
type OwnSetting = (typeof AWS | typeof GOOGLE | typeof ENTRA)[number] | 'workspace' | 'resource' | 'location' | 'api_version' | ChatSetting

type PlaceSetting = 'region' | 'workspace' | 'resource' | 'project' | 'location'

type KindRules = Readonly<{
  takes: readonly OwnSetting[]
  /** The settings without which no call can be made. */
  needs?: readonly OwnSetting[]
  auth: UpstreamConfig['auth']
  /** Makes the address from these settings where no `base_url` is set. Undefined: the kind has no address of its own, so `base_url` must be set. */
  address?: Readonly<{ from: readonly PlaceSetting[]; of: (...values: readonly string[]) => string }>
}>

const GOOGLE_HOSTS: Readonly<Record<string, string>> = {
  global: 'aiplatform.googleapis.com',
  us: 'aiplatform.us.rep.googleapis.com',
  eu: 'aiplatform.eu.rep.googleapis.com',
}

const RULES: Readonly<Record<Kind, KindRules>> = {
  native: { takes: [], auth: 'x-api-key' },
  openai: { takes: CHAT_SETTINGS, auth: 'bearer' },
  'claude-aws': {
    takes: [...AWS, 'workspace'],
    needs: ['workspace'],
    auth: 'bearer',
    address: { from: ['region'], of: (region) => `https://aws-external-anthropic.${region}.api.aws` },
  },
  bedrock: {
    takes: AWS,
    auth: 'bearer',
    address: { from: ['region'], of: (region) => `https://bedrock-mantle.${region}.api.aws/anthropic` },
  },
  'bedrock-invoke': {
    takes: [...AWS, 'api_version'],
    auth: 'bearer',
    address: { from: ['region'], of: (region) => `https://bedrock-runtime.${region}.amazonaws.com` },
  },
  vertex: {
    takes: [...GOOGLE, 'location', 'api_version'],
    needs: ['project', 'location'],
    auth: 'bearer',
    address: { from: ['location'], of: (location = '') => `https://${GOOGLE_HOSTS[location] ?? `${location}-aiplatform.googleapis.com`}` },
  },
  'claude-google': {
    takes: [...GOOGLE, 'workspace'],
    auth: 'bearer',
    address: {
      from: ['project', 'workspace'],
      of: (project, workspace) => `https://claude.googleapis.com/v1/projects/${project}/locations/global/workspaces/${workspace}/invoke`,
    },
  },
  foundry: {
    takes: [...ENTRA, 'resource'],
    auth: 'x-api-key',
    address: { from: ['resource'], of: (resource) => `https://${resource}.services.ai.azure.com/anthropic` },
  },
}

const OWN: readonly OwnSetting[] = [
  ...new Set([...AWS, ...GOOGLE, ...ENTRA, 'workspace', 'resource', 'location', 'api_version', ...CHAT_SETTINGS] as const),
]

/** Edits of native requests, which a server of chat never gets. */
const NATIVE_EDITS = ['drop_betas', 'rename_betas', 'default_edits'] as const

const kindOf = ({ kind = 'native' }: Pick<UpstreamEntry, 'kind'>): Kind => kind

/** How a server of this kind reads our key, unless `auth` says otherwise. */
export const authOf = (entry: UpstreamEntry): UpstreamConfig['auth'] => entry.auth ?? RULES[kindOf(entry)].auth

/** The address as the file writes it, or the kind's own; undefined: a mistake, which `makeDoor` names. */
export function addressOf(entry: Omit<UpstreamEntry, 'name'>): string | undefined {
  const { address } = RULES[kindOf(entry)]
  const values = (address?.from ?? []).flatMap((name) => entry[name] ?? [])
  return entry.base_url ?? (address === undefined || values.length < address.from.length ? undefined : address.of(...values))
}

/** The settings of the upstream's door. Every mistake is added to the context's problems. */
export function makeDoor(entry: UpstreamEntry, context: ProofContext): DoorSettings {
  const kind = kindOf(entry)
  checkOwn(entry, kind, context)
  const { workspace = '', project = '', location = '', api_version: apiVersion } = entry
  switch (kind) {
    case 'native':
      return { kind }
    case 'openai':
      return makeChatDoor(entry, context.path, context.problems)
    case 'claude-aws':
      return { kind, workspace, proof: makeAwsProof(entry, 'aws-external-anthropic', context) }
    case 'bedrock':
      return { kind, proof: makeAwsProof(entry, 'bedrock-mantle', context) }
    case 'bedrock-invoke':
      return { kind, proof: makeAwsProof(entry, 'bedrock', context), apiVersion }
    case 'vertex':
      return { kind, project, location, proof: makeGoogleProof(entry, context), apiVersion }
    case 'claude-google':
      return { kind, proof: makeGoogleProof(entry, context) }
    case 'foundry':
      return { kind, proof: makeEntraProof(entry, context) }
  }
}

function checkOwn(entry: UpstreamEntry, kind: Kind, { path, problems }: ProofContext): void {
  const { takes, needs = [], address } = RULES[kind]
  for (const name of OWN) {
    if (entry[name] === undefined || takes.includes(name)) continue
    const kinds = Object.entries(RULES).flatMap(([one, rules]) => (rules.takes.includes(name) ? [one] : []))
    problems.push({ path: `${path}.${name}`, message: `expected kind = "${kinds.join('" or "')}" beside it` })
  }
  for (const name of kind === 'openai' ? NATIVE_EDITS : [])
    if (entry[name] !== undefined)
      problems.push({ path: `${path}.${name}`, message: 'has no meaning with kind = "openai": it is of native requests' })
  for (const name of needs)
    if (entry[name] === undefined) problems.push({ path: `${path}.${name}`, message: 'expected a text, found nothing' })
  if (addressOf(entry) !== undefined) return
  if (address === undefined) problems.push({ path: `${path}.base_url`, message: 'expected an http or https address, found nothing' })
  for (const name of address?.from ?? [])
    if (entry[name] === undefined && !needs.includes(name))
      problems.push({ path: `${path}.${name}`, message: `expected ${name} or base_url, found nothing` })
}
