/**
 * The guide holds together: nothing is left to fill in, every page is in every menu, every link leads somewhere, every error and limit of the code is on its
 * page, and no name of a model or address of an installation becomes markup or a command. Rules: requests.md "Documents".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LIMITS } from '../../src/core/limits.ts'
import { picos } from '../../src/core/money.ts'
import { REFUSALS } from '../../src/core/refusal.ts'
import { type Facts, GUIDE, GUIDE_SOURCES, guideOf, llmsTextOf } from '../../src/docs/guide.ts'
import { codeInCell, renderMarkdown } from '../../src/docs/markdown.ts'
import { API_REFERENCE, pageHtml } from '../../src/docs/page.ts'
import { makeTestCatalog, makeTestModel } from '../support/world.ts'

const FACTS: Facts = {
  baseUrl: 'https://llm.example',
  dashboardUrl: 'https://pay.example/keys',
  catalog: makeTestCatalog(),
  limits: LIMITS,
}
const pages = guideOf(FACTS)
const frame = { book: GUIDE, pages, stylesheet: '/docs/style.css' }
const htmlOf = (path: string, facts: Facts = FACTS): string => {
  const all = guideOf(facts)
  const page = all.find((one) => one.path === path)
  return page === undefined ? '' : pageHtml(page, { ...frame, pages: all })
}
const textOf = (path: string, facts?: Facts): string => guideOf(facts ?? FACTS).find((one) => one.path === path)?.markdown ?? ''
/** What a reader sees of a piece of HTML. */
const seen = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(
      /&(?:amp|lt|gt|quot|#39);/g,
      (entity) => ({ '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" })[entity] ?? '',
    )

test('every page has a title and a sentence under it, and nothing in it is left to fill in', () => {
  expect(pages.map(({ path }) => path)).toEqual([
    '/docs',
    '/docs/clients',
    '/docs/authentication',
    '/docs/models',
    '/docs/billing',
    '/docs/statements',
    '/docs/alerts',
    '/docs/telegram',
    '/docs/streaming',
    '/docs/errors',
    '/docs/limits',
  ])
  for (const { title, lede, markdown, path } of pages) {
    expect([title.length > 3, lede.length > 40, lede.endsWith('.')], path).toEqual([true, true, true])
    expect(markdown, path).not.toMatch(/\{\{\w|undefined|NaN/)
    expect(htmlOf(path), path).toContain(`<p class="lede">${renderMarkdown(lede).html.replace('<p>', '').trim()}`)
  }
  expect(new Set(GUIDE_SOURCES.flatMap(({ source }) => source.match(/\{\{\w+\}\}/g) ?? [])).size).toBeGreaterThan(8)
})

test('every link leads to a page, and to a heading that it has; every page is in every menu', () => {
  const anchors = new Map(pages.map(({ path, markdown }) => [path, renderMarkdown(markdown).headings.map(({ id }) => id)]))
  const known = new Set([
    ...pages.flatMap(({ path, markdownPath }) => [path, markdownPath]),
    API_REFERENCE.path,
    '/llms.txt',
    '/openapi.json',
    '/cabinet',
  ])
  for (const { path } of pages) {
    const html = htmlOf(path)
    const links = [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => href)
    for (const { path: other } of [...pages, API_REFERENCE]) expect(links.filter((href) => href === other).length).toBeGreaterThanOrEqual(2)
    for (const href of links) {
      const [target = '', anchor] = href.split('#')
      if (href === '#content') continue
      expect(known.has(target === '' ? path : target), `${path}: ${href}`).toBeTrue()
      if (anchor !== undefined) expect(anchors.get(target === '' ? path : target), `${path}: ${href}`).toContain(anchor)
    }
    const ids = anchors.get(path) ?? []
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every((id) => /^[a-z0-9][a-z0-9-]*$/.test(id) && id !== 'content' && id !== 'contents')).toBeTrue()
  }
})

test('the page on errors has every status, type and message that the gateway answers with', () => {
  const rows = textOf('/docs/errors')
    .split('\n')
    .filter((line) => line.startsWith('|'))
  const own: readonly string[] = ['invalidRequest', 'upstreamInvalidRequest', 'threadUnsupported']
  for (const [name, { status, type, message }] of Object.entries(REFUSALS)) {
    if (own.includes(name)) continue
    const sentence = name === 'modelUnavailable' ? 'Model X is not available on this API key' : message
    const full = name === 'insufficientBalance' ? `${sentence}${FACTS.dashboardUrl}` : sentence
    const row = rows.find((line) => line.includes(`${status}`) && line.includes(`\`${type}\``) && line.includes(`\`${full}\``))
    expect(row, name).toBeDefined()
    expect(row?.includes('| Yes'), name).toBe(REFUSALS[name as keyof typeof REFUSALS].isRetryable)
  }
})

test('limits, prices and the worked example are those of the installation', () => {
  const limits = {
    ...LIMITS,
    bodyBytes: 1_000_000,
    bodyBytesPerMinute: 2_202_009_600,
    idleMs: 31_000,
    startTimeoutMs: 90_000,
    totalTimeoutMs: 1_500,
    requestsPerMinute: 1_234,
    dashboardPerMinute: 7,
  }
  const text = textOf('/docs/limits', { ...FACTS, limits }).replaceAll(/ +/g, ' ')
  for (const words of [
    '1,000,000 bytes',
    'Request bodies a minute | 2,100 MiB |',
    'An idle connection | 31 seconds |',
    '90 seconds',
    '1,500 milliseconds',
    '| 1,234 |',
    '| 7 |',
    '5 minutes',
    '1 minute |',
  ])
    expect(text).toContain(words)
  expect(textOf('/docs/models')).toContain('| `sonnet` | $3.00 | $15.00 | $0.30 | $3.75 | $6.00 |')
  // 1,200 × 3 + 300 × 15 + 10,000 × 0.3, a million tokens each.
  expect(textOf('/docs/billing')).toContain('| **Total** |  |  | **$0.0111** |')
  const { maxOutputTokens } = makeTestModel()
  expect(textOf('/docs/billing')).toContain(`"max_tokens": ${maxOutputTokens}\` alone reserves $${(maxOutputTokens * 15) / 1e6}`)
  const dear = { ...makeTestModel().rates, serverToolUse: picos(10_000_000_000n) }
  expect(textOf('/docs/models', { ...FACTS, catalog: makeTestCatalog([{ rates: dear }, { id: 'plain' }]) })).toContain(
    '| Server tool, a use |',
  )
})

test('only models of the default plan are shown; without one the pages still stand', () => {
  const catalog = makeTestCatalog([{ id: 'open' }, { id: 'secret-model' }])
  const plans = new Map([...catalog.plans, ['default', { name: 'default', models: ['open'] }] as const])
  const shown = guideOf({ ...FACTS, catalog: { ...catalog, plans } })
  expect(shown.some(({ markdown }) => markdown.includes('`open`'))).toBeTrue()
  expect(shown.some(({ markdown }) => markdown.includes('secret-model'))).toBeFalse()
  for (const { path } of shown) expect(htmlOf(path, { ...FACTS, catalog: makeTestCatalog([]) })).toContain('</html>')
})

/** What the configuration takes as an id. */
const modelId = fc.stringMatching(/^[!#-)+-[\]-~]{1,128}$/)

test('a model’s id is text wherever it stands, whatever letters the configuration allows in it', () => {
  const check = (id: string): string => {
    const facts = { ...FACTS, catalog: makeTestCatalog([{ id }]) }
    const html = htmlOf('/docs/models', facts)
    const cell = /<tbody><tr><td>([\s\S]*?)<\/td><td class="number">\$3\.00<\/td>/.exec(html)?.[1] ?? ''
    expect(cell).toStartWith('<code>')
    expect(seen(cell)).toBe(id)
    for (const { path } of pages) expect(tagsOf(htmlOf(path, facts))).toEqual(TAGS.get(path) ?? [])
    return textOf('/docs', facts)
  }
  for (const id of [
    '<script>alert(1)</script>',
    '`|`',
    '{{base_url}}',
    "a'$(id)'",
    '|',
    '](javascript:x)',
    '&lt;b&gt;',
    '<!--',
    '$&',
    '``x`',
  ])
    expect(check(id)).toContain('"model": "MODEL_ID"')
  expect(check('vendor/model:v1@2.5')).toContain('"model": "vendor/model:v1@2.5"')
  fc.assert(
    fc.property(modelId, (id) => void check(id)),
    { numRuns: 30 },
  )
})

/** Tags of a page, without those that a longer table would add. */
const tagsOf = (html: string): readonly string[] => [...new Set(html.match(/<\/?[a-z][a-z0-9]*/g))].sort()
const TAGS = new Map(pages.map(({ path }) => [path, tagsOf(htmlOf(path))]))

test('an address of the operator is text, too', () => {
  for (const dashboardUrl of [
    'https://x.example/`|<script>alert(1)</script>',
    'https://x.example/?a=1&b=2|3',
    'https://x.example/\n\n# Title',
  ]) {
    const html = htmlOf('/docs/errors', { ...FACTS, dashboardUrl })
    expect(html).not.toContain('<script')
    expect(tagsOf(html)).toEqual(TAGS.get('/docs/errors') ?? [])
    expect(seen(html)).toContain(`Insufficient balance on this API key. Top up: ${dashboardUrl.replaceAll(/\s+/g, ' ')}`)
  }
})

test('a code span in a cell says exactly what it was given', () => {
  const written = fc.string({ maxLength: 40 }).filter((text) => text.trim() === text && text !== '' && !/[\s\\]/.test(text))
  fc.assert(
    fc.property(written, (text) => {
      const { html } = renderMarkdown(`| a | b |\n| --- | --- |\n| ${codeInCell(text)} | c |\n`)
      expect(html.match(/<td/g)).toHaveLength(2)
      expect(seen(/<tbody><tr><td>([\s\S]*?)<\/td>/.exec(html)?.[1] ?? '')).toBe(text)
    }),
  )
})

test('HTML in Markdown is shown, not obeyed', () => {
  const { html } = renderMarkdown('# A <b>b</b>\n\n<script>x</script>\n\nin <i onclick="x">line</i> ![alt](http://elsewhere/x.png)\n')
  expect(html).not.toMatch(/<(?:script|i|b|img)\b/)
  expect(seen(html)).toContain('<script>x</script>')
})

test('llms.txt has the form of llmstxt.org and names every page by its whole address', () => {
  const text = llmsTextOf(pages, FACTS.baseUrl)
  expect(text).toMatch(
    /^# Tollgate\n\n> .+\n\n(?!#)[^\n]+\n[^\n]+\n\n## Guide\n\n(?:- \[[^\]]+\]\(https:\/\/llm\.example\/docs\/[\w-]+\.md\): .+\n)+\n## Reference\n/,
  )
  for (const { markdownPath, lede } of pages) expect(text).toContain(`(https://llm.example${markdownPath}): ${lede}\n`)
})
