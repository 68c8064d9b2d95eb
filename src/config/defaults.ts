/**
 * Default settings, and the catalogue that serves when `tollgate.toml` names no models: the vendor's models, their public list prices (USD per million
 * tokens, November 2026) and what each model rejects. An operator's own `[[models]]` replace the whole catalogue. Rules: native.md "What models refuse";
 * https://platform.claude.com/docs/en/about-claude/pricing. Models whose end the vendor has announced, and models by invitation only, are left out.
 */

import type { Rejection } from '../core/catalog.ts'
import type { ModelEntry } from './catalog-schema.ts'

export const SERVER = { host: '127.0.0.1', port: 8080 }
/** The default of `drain_delay_ms` behind a proxy: long enough for a few checks of `/readyz` by the balancer. */
export const DRAIN_DELAY_MS = 5_000
export const OPERATOR = { host: '127.0.0.1', port: 9090 }
export const STRIPE = { minUsd: '5', maxUsd: '500' }
export const LEDGER_PATH = 'data/tollgate.db'
export const LEASE_MS = 10_000
/** How many bytes of text make one token; used for estimates. */
export const BYTES_PER_TOKEN = 4
/** An upstream on this host has `dialect = "vendor"` by default: stream events of an unknown type are passed on. */
export const VENDOR_HOST = 'api.anthropic.com'
export const UPSTREAM_DEFAULTS = {
  weight: 1,
  priority: 0,
  maxConcurrent: 10_000,
  connectTimeoutMs: 10_000,
  transport: 'socket',
  countTokens: 'yes',
  echo: 'alarm',
} as const

/** A model with its name and date in the list of models; a configured model with the same id is listed with the same ones. */
export type SampleModel = ModelEntry & Readonly<{ displayName: string; created: `${number}-${number}-${number}` }>

const REJECTED_BY_ALWAYS_THINKING: readonly Rejection[] = ['sampling', 'forced_tool_choice', 'manual_thinking', 'disabled_thinking']
const REJECTED_BY_ADAPTIVE_THINKING: readonly Rejection[] = ['sampling', 'manual_thinking', 'between_tools_thinking']
const REJECTED_BY_BUDGET_THINKING: readonly Rejection[] = ['adaptive_thinking', 'between_tools_thinking']

const LARGE = { context_window: 1_000_000, max_output_tokens: 128_000 }
const SMALL = { context_window: 200_000, max_output_tokens: 64_000 }

export const SAMPLE_MODELS: readonly SampleModel[] = [
  sample('fable-5-2', '2026-11-09', { input: '8.00', output: '40.00', cache_read: '0.025', ...LARGE }, [
    ...REJECTED_BY_ALWAYS_THINKING,
    'between_tools_thinking',
  ]),
  // The vendor charges a fifth of this below 100,000 tokens. A model has one price here, which must cover the longer prompts.
  sample('haiku-5-5', '2026-10-07', { input: '0.50', output: '2.50', ...LARGE }, REJECTED_BY_ADAPTIVE_THINKING),
  sample('sonnet-5-5', '2026-09-28', { input: '2.00', output: '10.00', cache_read: '0.05', ...LARGE }, REJECTED_BY_ALWAYS_THINKING),
  sample('opus-5-5', '2026-09-22', { input: '4.00', output: '20.00', cache_read: '0.05', ...LARGE }, [
    ...REJECTED_BY_ALWAYS_THINKING,
    'between_tools_thinking',
  ]),
  sample('fable-5-1', '2026-09-01', { input: '10.00', output: '50.00', cache_read: '0.025', ...LARGE }, [
    ...REJECTED_BY_ALWAYS_THINKING,
    'between_tools_thinking',
  ]),
  sample('opus-5', '2026-07-24', { input: '5.00', output: '25.00', ...LARGE }, ['sampling', 'between_tools_thinking']),
  sample('sonnet-5', '2026-06-30', { input: '2.00', output: '10.00', ...LARGE }, REJECTED_BY_ADAPTIVE_THINKING),
  sample('fable-5', '2026-06-09', { input: '10.00', output: '50.00', ...LARGE }, [
    'sampling',
    'manual_thinking',
    'disabled_thinking',
    'between_tools_thinking',
  ]),
  sample('opus-4-8', '2026-05-28', { input: '5.00', output: '25.00', ...LARGE }, REJECTED_BY_ADAPTIVE_THINKING),
  sample('opus-4-7', '2026-04-16', { input: '5.00', output: '25.00', ...LARGE }, REJECTED_BY_ADAPTIVE_THINKING),
  sample('sonnet-4-6', '2026-02-17', { input: '3.00', output: '15.00', ...LARGE }, ['between_tools_thinking', 'xhigh_effort']),
  sample('opus-4-6', '2026-02-05', { input: '5.00', output: '25.00', ...LARGE }, ['between_tools_thinking', 'xhigh_effort']),
  sample('opus-4-5', '2025-11-24', { input: '5.00', output: '25.00', ...SMALL }, [...REJECTED_BY_BUDGET_THINKING, 'xhigh_effort']),
  sample('haiku-4-5', '2025-10-15', { input: '1.00', output: '5.00', ...SMALL }, [...REJECTED_BY_BUDGET_THINKING, 'effort']),
]

type Facts = Omit<ModelEntry, 'id' | 'rejects'>

function sample(name: string, created: SampleModel['created'], facts: Facts, rejects: readonly Rejection[]): SampleModel {
  const [family = '', ...version] = name.split('-')
  const displayName = `Claude ${family.charAt(0).toUpperCase()}${family.slice(1)} ${version.join('.')}`
  return { id: `claude-${name}`, displayName, created, ...facts, rejects: [...rejects] }
}
