/** `tollgate keys rates`: requests and tokens that one key may have, beside the rates of its plan. Rules: keys.md "Rates"; operator.md "Keys and accounts". */

import type { Command } from 'commander'
import { RATE_MAX } from '../core/token-buckets.ts'
import { ratesChange } from '../ledger/operations/key-writes.ts'
import { wholeNumber } from './arguments.ts'
import { type Run, withJson } from './command-context.ts'
import { wrongUse } from './environment.ts'
import { changeKey } from './keys.ts'
import { type Why, withReason } from './operate.ts'

type Rate = number | 'none'
type RatesOptions = Why &
  Partial<Record<'requestsPerMinute' | 'inputTokensPerMinute' | 'outputTokensPerMinute' | 'concurrentRequests', Rate>>

const count = wholeNumber(1, RATE_MAX)
const readRate = (text: string): Rate => (text === 'none' ? text : count(text))
const setTo = (rate: Rate | undefined): number | null | undefined => (rate === 'none' ? null : rate)

export function addRates(keys: Command, run: Run): void {
  const rates = withReason(withJson(keys.command('rates')))
    .description('set or remove rates of the key, beside those of its plan; what is not named stays')
    .argument('<KEY>', 'id or name of a key')
    .option('--requests-per-minute <N|none>', 'requests a minute', readRate)
    .option('--input-tokens-per-minute <N|none>', 'input tokens a minute, cache reads aside', readRate)
    .option('--output-tokens-per-minute <N|none>', 'output tokens a minute', readRate)
    .option('--concurrent-requests <N|none>', 'requests at once', readRate)
  rates.action((key: string, options: RatesOptions) =>
    run(rates, (context) => {
      const { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrentRequests } = options
      const set = {
        requests_per_minute: setTo(requestsPerMinute),
        input_tokens_per_minute: setTo(inputTokensPerMinute),
        output_tokens_per_minute: setTo(outputTokensPerMinute),
        concurrent_requests: setTo(concurrentRequests),
      }
      if (Object.values(set).every((rate) => rate === undefined))
        return wrongUse('name at least one rate, such as --requests-per-minute 60')
      return changeKey(context, key, options, (found, now) => {
        const change = ratesChange(found, set, context.config.limits, now)
        return 'problem' in change ? wrongUse(`--${change.field.replaceAll('_', '-')}: ${change.problem}`) : change
      })
    }),
  )
}
