/** The configuration of a gateway process under test: one upstream, one model, room for many requests. */

import type { Transport } from '../../src/config/config.ts'
import { MODEL_ID } from './load.ts'

/** The variable that the configuration names, and its value, which must never be seen. */
export const UPSTREAM_ENV = { UPSTREAM_API_KEY: 'upstream-secret-5c1d9e' } as const

type Given = Readonly<{
  upstreamUrl: string
  transport?: Transport
  /** More of the upstream's table. */
  upstreamLines?: string
  inputPrice?: string
  drainMs?: number
  more?: string
}>

export const configurationOf = ({
  upstreamUrl,
  transport = 'socket',
  upstreamLines = '',
  inputPrice = '3.00',
  drainMs = 60_000,
  more = '',
}: Given): string => `
[operator]
port = 0

[limits]
requests_per_minute = 1000000
concurrent_requests = 5000
drain_ms = ${drainMs}

[[upstreams]]
name = "main"
base_url = "${upstreamUrl}"
api_key_env = "UPSTREAM_API_KEY"
transport = "${transport}"
${upstreamLines}

[[models]]
id = "${MODEL_ID}"
upstream_model = "vendor-model"
upstreams = ["main"]
input = "${inputPrice}"
output = "15.00"
context_window = 200000
max_output_tokens = 64000

[plans.default]
models = ["*"]
${more}`
