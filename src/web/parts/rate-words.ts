/** Rates of a plan or a key in words. Rules: keys.md "Rates". */

import { showCount } from './show-time.ts'

export type Rates = Readonly<{
  requests_per_minute: number | null
  input_tokens_per_minute: number | null
  output_tokens_per_minute: number | null
  concurrent_requests: number | null
}>

/** `60 requests, 9,000 output tokens a minute; 4 requests at once`. */
export function rateWords(rates: Rates): string {
  const minute = [
    countOf(rates.requests_per_minute, 'requests'),
    countOf(rates.input_tokens_per_minute, 'input tokens'),
    countOf(rates.output_tokens_per_minute, 'output tokens'),
  ].filter((words) => words !== '')
  const atOnce = countOf(rates.concurrent_requests, 'requests at once')
  return [minute.length === 0 ? '' : `${minute.join(', ')} a minute`, atOnce].filter((words) => words !== '').join('; ')
}

const countOf = (count: number | null, what: string): string => (count === null ? '' : `${showCount(count)} ${what}`)
