/** The parts that several described tables have: the words that code and columns share, and the counters of tokens. */

import type { Column, Words } from './column.ts'

export const FORMAT: Words = { list: 'FORMAT_NAMES', type: 'FormatName', file: 'core/format.ts', unknown: 'messages' }
export const OUTCOME: Words = { list: 'OUTCOMES', type: 'Outcome', file: 'core/outcome.ts', unknown: 'fault' }
export const USAGE_SOURCE: Words = { list: 'USAGE_SOURCES', type: 'UsageSource', file: 'core/outcome.ts', unknown: 'none' }

const counter = (column: string, name: string): Column => ({
  column,
  kind: 'whole',
  from: 'settle',
  name: `usage.${name}`,
  shownTo: 'all',
  hashedAs: column.replace('_tokens', ''),
})

/** Their order is that of the columns and of the chain's `tokens`. */
export const COUNTERS: readonly Column[] = [
  counter('input_tokens', 'input'),
  counter('output_tokens', 'output'),
  counter('cache_read_tokens', 'cacheRead'),
  counter('cache_write_5m_tokens', 'cacheWrite5m'),
  counter('cache_write_1h_tokens', 'cacheWrite1h'),
  counter('server_tool_uses', 'serverToolUses'),
]
