/**
 * The guide for people who hold a key: its pages in reading order, with this installation's address, models, prices and limits filled in.
 * Rules: requests.md "Documents"; https://llmstxt.org.
 */

import { type Catalog, type Model, modelsOf } from '../core/catalog.ts'
import type { Limits } from '../core/limits.ts'
import { type Picos, picos, toExactUsdText, ZERO } from '../core/money.ts'
import { costOf, type Rates } from '../core/pricing.ts'
import { NO_USAGE } from '../core/usage.ts'
import alerts from './guide/alerts.md' with { type: 'text' }
import authentication from './guide/authentication.md' with { type: 'text' }
import billing from './guide/billing.md' with { type: 'text' }
import clients from './guide/clients.md' with { type: 'text' }
import errors from './guide/errors.md' with { type: 'text' }
import limits from './guide/limits.md' with { type: 'text' }
import models from './guide/models.md' with { type: 'text' }
import quickStart from './guide/quick-start.md' with { type: 'text' }
import statements from './guide/statements.md' with { type: 'text' }
import streaming from './guide/streaming.md' with { type: 'text' }
import telegram from './guide/telegram.md' with { type: 'text' }
import { codeInCell, openingOf } from './markdown.ts'
import { API_REFERENCE, type Book, type Page } from './page.ts'

/** The facts that differ between installations. A reload of the configuration makes new facts. */
export type Facts = Readonly<{
  /** The gateway's own address as the operator knows it, never what a request says: a page tells people where to send their keys. */
  baseUrl: string
  /** Where a balance is topped up, as the balance error names it. */
  dashboardUrl: string
  /** The model that the examples name; default: the first that anyone may use. */
  example?: Model
  catalog: Catalog
  limits: Limits
}>

/** The pages in reading order; the first is `/docs` itself. */
export const GUIDE_SOURCES: readonly Readonly<{ name: string; source: string }>[] = [
  { name: 'quick-start', source: quickStart },
  { name: 'clients', source: clients },
  { name: 'authentication', source: authentication },
  { name: 'models', source: models },
  { name: 'billing', source: billing },
  { name: 'statements', source: statements },
  { name: 'alerts', source: alerts },
  { name: 'telegram', source: telegram },
  { name: 'streaming', source: streaming },
  { name: 'errors', source: errors },
  { name: 'limits', source: limits },
]

export const GUIDE: Book = {
  name: 'Guide',
  home: '/docs',
  back: { path: '/cabinet', title: 'Cabinet' },
  after: [API_REFERENCE],
  files: [
    { path: '/llms.txt', title: 'llms.txt' },
    { path: '/openapi.json', title: 'openapi.json' },
  ],
}

export function guideOf(facts: Facts): readonly Page[] {
  const values = valuesOf(facts)
  return GUIDE_SOURCES.map(({ name, source }, index) => {
    const markdown = fill(source, values)
    return { path: index === 0 ? '/docs' : `/docs/${name}`, markdownPath: `/docs/${name}.md`, ...openingOf(markdown), markdown }
  })
}

/** `/llms.txt`: one page that lists what there is to read, and where. */
export function llmsTextOf(pages: readonly Page[], baseUrl: string): string {
  const lines = pages.map(({ title, markdownPath, lede }) => `- [${title}](${baseUrl}${markdownPath}): ${lede}`)
  return `# Tollgate

> A prepaid gateway for language models. One key works with the OpenAI chat completions, OpenAI responses and Anthropic messages formats.

Base address of native (messages) clients: ${baseUrl}
Base address of OpenAI-style clients: ${baseUrl}/v1

## Guide

${lines.join('\n')}

## Reference

- [OpenAPI description](${baseUrl}/openapi.json): every endpoint, field and error
- [${API_REFERENCE.title}](${baseUrl}${API_REFERENCE.path}): the same for people
`
}

/** The model that the examples name. */
export const exampleModelOf = (catalog: Catalog): Model | undefined => exampleModelsOf(catalog, PUBLIC_PLAN)[0]

/** The models of a plan that may stand in an example, newest first. */
export const exampleModelsOf = (catalog: Catalog, planName: string): readonly Model[] =>
  modelsOf(catalog, planName).filter(({ id }) => PLAIN_ID.test(id))

/** Fills in the values in one pass: a value's own text is not searched for placeholders. */
const fill = (source: string, values: Readonly<Record<string, string>>): string =>
  source.replaceAll(PLACEHOLDER, (whole, name: string) => values[name] ?? whole)

const PLACEHOLDER = /\{\{(\w+)\}\}/g
/** Keys have this plan unless made with another; models of other plans are not shown to the public. */
const PUBLIC_PLAN = 'default'
/** The model id of the examples where there is no model. */
export const NO_MODEL_ID = 'MODEL_ID'
/** A model id that needs no escaping in a shell, in JSON and in the configuration files of clients. */
const PLAIN_ID = /^[\w./:@-]+$/
const TOKENS_PRICED = 1_000_000n
const MIB = 1024 * 1024
/** The worked example of the page on billing. */
const EXAMPLE = { ...NO_USAGE, input: 1_200, output: 300, cacheRead: 10_000 }

function valuesOf({ baseUrl, dashboardUrl, catalog, limits: bounds, ...facts }: Facts): Readonly<Record<string, string>> {
  const shown = modelsOf(catalog, PUBLIC_PLAN)
  const example = facts.example ?? exampleModelOf(catalog)
  return {
    base_url: baseUrl,
    dashboard_url: codeInCell(`Insufficient balance on this API key. Top up: ${dashboardUrl}`),
    model: example?.id ?? NO_MODEL_ID,
    models: modelTable(shown),
    context_window: String(example?.contextWindow ?? 0),
    max_output_tokens: String(example?.maxOutputTokens ?? 0),
    example: example === undefined ? '' : workedExample(example.rates),
    example_reserve: example === undefined ? '' : longestReserve(example),
    body_size: size(bounds.bodyBytes),
    body_bytes: count(bounds.bodyBytes),
    body_size_per_minute: size(bounds.bodyBytesPerMinute),
    start_timeout: duration(bounds.startTimeoutMs),
    total_timeout: duration(bounds.totalTimeoutMs),
    first_event_timeout: duration(bounds.firstEventTimeoutMs),
    stall_timeout: duration(bounds.stallTimeoutMs),
    write_stall: duration(bounds.writeStallMs),
    idle: duration(bounds.idleMs),
    requests_per_minute: count(bounds.requestsPerMinute),
    concurrent_requests: count(bounds.concurrentRequests),
    dashboard_per_minute: count(bounds.dashboardPerMinute),
  }
}

function modelTable(shown: readonly Model[]): string {
  if (shown.length === 0) return 'This installation shows no models here.'
  const usesCost = shown.some(({ rates }) => rates.serverToolUse > ZERO)
  const head = [
    'Model',
    'Input',
    'Output',
    'Cache read',
    'Cache write, 5 min',
    'Cache write, 1 h',
    ...(usesCost ? ['Server tool, a use'] : []),
  ]
  const rows = shown.flatMap((model) => [
    [codeInCell(model.id), ...pricesOf(model.rates, usesCost), count(model.contextWindow), count(model.maxOutputTokens)],
    ...model.levels.map(({ abovePromptTokens, rates }) => [
      `– with a prompt above ${count(abovePromptTokens)} tokens`,
      ...pricesOf(rates, usesCost),
      '',
      '',
    ]),
  ])
  return [
    [...head, 'Context window', 'Longest answer'],
    head.map((_, index) => (index === 0 ? '---' : '---:')).concat('---:', '---:'),
    ...rows,
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

const pricesOf = (rates: Rates, usesCost: boolean): readonly string[] => [
  ...[rates.input, rates.output, rates.cacheRead, rates.cacheWrite5m, rates.cacheWrite1h].map(perMillion),
  ...(usesCost ? [dollars(rates.serverToolUse)] : []),
]

const workedExample = (rates: Rates): string =>
  [
    ['Tokens', 'Count', 'Price per million', 'Cost'],
    ['---', '---:', '---:', '---:'],
    ['Input', count(EXAMPLE.input), perMillion(rates.input), dollars(costOf({ ...NO_USAGE, input: EXAMPLE.input }, rates))],
    ['Output', count(EXAMPLE.output), perMillion(rates.output), dollars(costOf({ ...NO_USAGE, output: EXAMPLE.output }, rates))],
    [
      'Cache read',
      count(EXAMPLE.cacheRead),
      perMillion(rates.cacheRead),
      dollars(costOf({ ...NO_USAGE, cacheRead: EXAMPLE.cacheRead }, rates)),
    ],
    ['**Total**', '', '', `**${dollars(costOf(EXAMPLE, rates))}**`],
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

const longestReserve = ({ id, maxOutputTokens, rates }: Model): string =>
  `With \`${id}\`, \`"max_tokens": ${maxOutputTokens}\` alone reserves ${dollars(picos(BigInt(maxOutputTokens) * rates.output))}.`

const perMillion = (rate: Picos): string => dollars(picos(rate * TOKENS_PRICED))

/** An amount with every digit, and at least two decimals: "$0.50", "$0.00135". */
function dollars(amount: Picos): string {
  const [whole = '0', fraction = ''] = toExactUsdText(amount).split('.')
  return `$${count(Number(whole))}.${fraction.padEnd(2, '0')}`
}

const count = (value: number): string => value.toLocaleString('en-US')

/** A size in MiB: "32 MiB", "0.95 MiB". */
const size = (bytes: number): string => `${count(Math.round((bytes / MIB) * 100) / 100)} MiB`

/** A duration in the largest unit that gives a whole number: "6 minutes", "90 seconds", "250 milliseconds". */
function duration(ms: number): string {
  const [value, unit] = ms % 60_000 === 0 ? [ms / 60_000, 'minute'] : ms % 1_000 === 0 ? [ms / 1_000, 'second'] : [ms, 'millisecond']
  return `${count(value)} ${unit}${value === 1 ? '' : 's'}`
}
