/**
 * `/docs`, `/docs/{page}`, the same as Markdown, `/llms.txt`, and the API as `/openapi.json` and `/docs/api`. Each is rendered when it is first asked for and kept until a reload brings other models,
 * limits or addresses: as many documents as the guide has pages, whoever asks for what. Nobody is named and nothing is spent, so a page has no log line.
 * Rules: requests.md "Documents".
 */

import { Elysia } from 'elysia'
import { API_REFERENCE, type Facts, type GuidePage, guideOf, llmsTextOf } from '../docs/guide.ts'
import { type Frame, missingHtml, pageHtml, referenceHtml } from '../docs/page.ts'
import { answerHeaders } from '../relay/answer-headers.ts'
import { pathOf } from '../relay/request-target.ts'
import icon from '../web/icon.svg' with { type: 'text' }
import css from '../web/style.css' with { type: 'text' }
import type { World } from '../world.ts'
import type { OpenApiDocument } from './openapi/document.ts'
import { referenceOf } from './openapi/reference.ts'
import { answerStatic, digestOf, makeStatic, type StaticContent } from './static-answer.ts'

const HTML = 'text/html; charset=utf-8'
/** Browsers show it, where they would download `text/markdown`. */
const TEXT = 'text/plain; charset=utf-8'

const JSON_TYPE = 'application/json'
const API_DOCUMENT = '/openapi.json'

const CSS = { text: css, type: 'text/css; charset=utf-8' }
const STYLESHEET = makeStatic({ ...CSS, caching: 'immutable' })
/** For an address that another version's page names: not to be kept under it. */
const OTHER_STYLESHEET = makeStatic({ ...CSS, caching: 'revalidate' })
const STYLESHEET_ADDRESS = `/docs/style.css?v=${digestOf(css)}`
const ICON = makeStatic({ text: icon, type: 'image/svg+xml', caching: 'revalidate' })

/** Describes the API as it is under these facts. */
type Describe = (facts: Facts) => OpenApiDocument

export function docsRoutes(world: World, describe: Describe) {
  const shelf = new Shelf(world, describe)
  const answer = (request: Request, content: StaticContent, status?: number): Response => {
    const id = world.requestId()
    const headers = answerHeaders(id, world.corsOrigins(), request.headers.get('origin'))
    return answerStatic(request, content, 'vary' in headers ? { ...headers, vary: 'origin, accept-encoding' } : headers, status)
  }
  const answerPage = ({ request }: { request: Request }): Response => {
    const path = pathOf(request.url)
    const content = shelf.find(path)
    if (content !== undefined) return answer(request, content)
    const page = PLAIN_PATHS.get(path) ?? (path.endsWith('/') ? path.slice(0, -1) : path)
    if (page !== path && shelf.find(page) !== undefined) return new Response(null, { status: 308, headers: { location: page } })
    return answer(request, shelf.missing(), 404)
  }
  return new Elysia({ name: 'docs' })
    .get('/docs', answerPage)
    .get('/docs/*', answerPage)
    .get('/llms.txt', answerPage)
    .get(API_DOCUMENT, answerPage)
    .get('/docs/style.css', ({ request }) => answer(request, request.url.endsWith(STYLESHEET_ADDRESS) ? STYLESHEET : OTHER_STYLESHEET))
    .get('/docs/icon.svg', ({ request }) => answer(request, ICON))
}

/** Addresses that people try. */
const PLAIN_PATHS: ReadonlyMap<string, string> = new Map([
  ['/docs/quick-start', '/docs'],
  ['/docs/index.md', '/docs/quick-start.md'],
  ['/docs/llms.txt', '/llms.txt'],
])

/** The documents of one catalogue, each made at its first use. */
class Shelf {
  readonly #world: World
  readonly #describe: Describe
  #facts: Facts | undefined
  #frame: Frame = { pages: [], stylesheet: STYLESHEET_ADDRESS }
  #missing: StaticContent | undefined
  readonly #made = new Map<string, StaticContent>()

  constructor(world: World, describe: Describe) {
    this.#world = world
    this.#describe = describe
  }

  find(path: string): StaticContent | undefined {
    const facts = this.#renew()
    const made = this.#made.get(path)
    if (made !== undefined) return made
    const content = this.#make(path, facts)
    if (content !== undefined) this.#made.set(path, content)
    return content
  }

  missing(): StaticContent {
    this.#renew()
    this.#missing ??= makeStatic({ text: missingHtml(this.#frame), type: HTML, caching: 'revalidate' })
    return this.#missing
  }

  #renew(): Facts {
    const facts = factsOf(this.#world)
    if (this.#facts !== undefined && isSame(facts, this.#facts)) return facts
    this.#facts = facts
    this.#frame = { ...this.#frame, pages: guideOf(facts) }
    this.#missing = undefined
    this.#made.clear()
    return facts
  }

  #make(path: string, facts: Facts): StaticContent | undefined {
    const { pages } = this.#frame
    if (path === '/llms.txt') return makeStatic({ text: llmsTextOf(pages, facts.baseUrl), type: TEXT, caching: 'revalidate' })
    if (path === API_DOCUMENT) return makeStatic({ text: JSON.stringify(this.#describe(facts)), type: JSON_TYPE, caching: 'revalidate' })
    if (path === API_REFERENCE.path)
      return makeStatic({ text: referenceHtml(referenceOf(this.#describe(facts)), this.#frame), type: HTML, caching: 'revalidate' })
    const page = pages.find((one) => one.path === path || one.markdownPath === path)
    return page && makeStatic(this.#contentOf(page, path))
  }

  #contentOf(page: GuidePage, path: string): Parameters<typeof makeStatic>[0] {
    return path === page.markdownPath
      ? { text: page.markdown, type: TEXT, caching: 'revalidate' }
      : { text: pageHtml(page, this.#frame), type: HTML, caching: 'revalidate' }
  }
}

const factsOf = (world: World): Facts => ({
  baseUrl: world.publicUrl(),
  dashboardUrl: world.dashboardUrl(),
  catalog: world.catalog(),
  limits: world.limits(),
})

const isSame = (a: Facts, b: Facts): boolean =>
  a.catalog === b.catalog && a.limits === b.limits && a.baseUrl === b.baseUrl && a.dashboardUrl === b.dashboardUrl
