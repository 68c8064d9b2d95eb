/** The words of a reload: what it changes, in units that people know. Rules: pages.md "Catalog". */

import type { SettingChange, ThingChange } from '../../../config/reload-preview.ts'
import { counted, showCount } from '../../parts/show-time.ts'
import { showPrice } from '../../parts/show-usd.ts'
import { rejectionWords } from './catalog.words.ts'
import { limitWords } from './limit-words.ts'

const SETTINGS: Readonly<Record<string, string>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cache read',
  cache_write: 'cache write, 5 min',
  cache_write_1h: 'cache write, 1 h',
  server_tool_use: 'tool use',
  context_window: 'context window',
  max_output_tokens: 'longest answer',
  bytes_per_token: 'bytes a token, for estimates',
  upstreams: 'served by',
  rejects: 'does not take',
  models: 'models',
  max_request_usd: 'a request costs at most',
  base_url: 'address',
  api_key: 'key',
  weight: 'weight',
  priority: 'priority',
  max_concurrent: 'calls at once',
}

/** "levels.above_200000.input" → "input above 200,000 tokens". Undefined: a setting without words of its own, which is shown as the file names it. */
export function settingWords(setting: string): string | undefined {
  const [, above, price] = /^levels\.above_(\d+)\.(\w+)$/.exec(setting) ?? []
  if (above === undefined) return SETTINGS[setting]
  const words = SETTINGS[price ?? '']
  return words === undefined ? undefined : `${words} above ${showCount(Number(above))} tokens`
}

const KINDS: Readonly<Record<ThingChange['kind'], string>> = { model: 'model', plan: 'plan', upstream: 'upstream', gateway: 'the gateway' }

export const thingWords = ({ kind }: ThingChange): string => KINDS[kind]

/** A value with its unit. "3" of a price → "$3.00". */
export function valueWords(value: string | null, { setting, unit }: SettingChange): string {
  if (value === null) return 'none'
  if (unit !== null || setting.endsWith('_usd')) return showPrice(value)
  if (setting === 'rejects') return value === '' ? 'takes all' : value.split(', ').map(rejectionWords).join(', ')
  if (value === '') return 'none'
  return /^\d+$/.test(value) ? limitWords(setting, Number(value)) : value
}

/** 50 → "+50 %". */
export const percentWords = (percent: number | null): string =>
  percent === null || percent === 0 ? '' : `${percent > 0 ? '+' : '−'}${showCount(Math.abs(percent))} %`

const STATES = ['added', 'removed', 'changed'] as const

/** "1 model added, 2 models changed, 3 settings of the gateway". */
export function summaryWords(things: readonly ThingChange[]): string {
  const parts = (['model', 'plan', 'upstream'] as const).flatMap((kind) =>
    STATES.flatMap((state) => {
      const count = things.filter((one) => one.kind === kind && one.state === state).length
      return count === 0 ? [] : [`${counted(count, kind)} ${state}`]
    }),
  )
  const own = things.find(({ kind }) => kind === 'gateway')?.changes.length ?? 0
  return [...parts, ...(own === 0 ? [] : [`${counted(own, 'setting')} of the gateway`])].join(', ')
}
