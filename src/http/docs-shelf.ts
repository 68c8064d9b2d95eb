/**
 * The documents of one installation: each is rendered when it is first asked for and kept until a reload brings other models, limits or addresses: as many as
 * the guide has pages, whoever asks for what. Loaded with the first of them: a start needs none. Rules: requests.md "Documents".
 */

import type { AnyElysia } from 'elysia'
import { API_REFERENCE, type Facts, type GuidePage, guideOf, llmsTextOf } from '../docs/guide.ts'
import { type Frame, missingHtml, pageHtml, referenceHtml } from '../docs/page.ts'
import base from '../web/base.css' with { type: 'text' }
import icon from '../web/icon.svg' with { type: 'text' }
import guide from '../web/style.css' with { type: 'text' }
import type { World } from '../world.ts'
import { openApiDocument } from './openapi/document.ts'
import { referenceOf } from './openapi/reference.ts'
import { digestOf, makeStatic, type StaticContent } from './static-answer.ts'

const HTML = 'text/html; charset=utf-8'
/** Browsers show it, where they would download `text/markdown`. */
const TEXT = 'text/plain; charset=utf-8'

const JSON_TYPE = 'application/json'
const API_DOCUMENT = '/openapi.json'

const css = `${base}\n${guide}`
const CSS = { text: css, type: 'text/css; charset=utf-8' }
const STYLESHEET = makeStatic({ ...CSS, caching: 'immutable' })
/** For an address that another version's page names: not to be kept under it. */
const OTHER_STYLESHEET = makeStatic({ ...CSS, caching: 'revalidate' })
const STYLESHEET_ADDRESS = `/docs/style.css?v=${digestOf(css)}`
const ICON = makeStatic({ text: icon, type: 'image/svg+xml', caching: 'revalidate' })

export class Shelf {
  readonly #world: World
  readonly #app: AnyElysia
  #facts: Facts | undefined
  #frame: Frame = { pages: [], stylesheet: STYLESHEET_ADDRESS }
  #missing: StaticContent | undefined
  readonly #made = new Map<string, StaticContent>()

  /** `app`: whose routes are described. */
  constructor(world: World, app: AnyElysia) {
    this.#world = world
    this.#app = app
  }

  find(path: string): StaticContent | undefined {
    const facts = this.#renew()
    const made = this.#made.get(path)
    if (made !== undefined) return made
    const content = this.#make(path, facts)
    if (content !== undefined) this.#made.set(path, content)
    return content
  }

  /** Under the address that a page names it is kept for ever. */
  stylesheet(url: string): StaticContent {
    return url.endsWith(STYLESHEET_ADDRESS) ? STYLESHEET : OTHER_STYLESHEET
  }

  icon(): StaticContent {
    return ICON
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
    if (path === API_DOCUMENT)
      return makeStatic({ text: JSON.stringify(openApiDocument(this.#app, facts)), type: JSON_TYPE, caching: 'revalidate' })
    if (path === API_REFERENCE.path)
      return makeStatic({
        text: referenceHtml(referenceOf(openApiDocument(this.#app, facts)), this.#frame),
        type: HTML,
        caching: 'revalidate',
      })
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
