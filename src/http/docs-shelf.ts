/**
 * The documents of one installation. Each is rendered when it is first asked for, and kept until a reload brings other models, limits or addresses. There are as many
 * documents as pages, so requests cannot fill memory. This file is loaded with the first document: a start needs none. Rules: requests.md "Documents".
 */

import type { AnyElysia } from 'elysia'
import { type Facts, GUIDE, guideOf, llmsTextOf } from '../docs/guide.ts'
import { API_REFERENCE, type Frame, missingHtml, type Page, pageHtml, referenceHtml } from '../docs/page.ts'
import type { World } from '../world.ts'
import { HTML, STYLESHEET_ADDRESS, TEXT } from './docs-look.ts'
import { openApiDocument } from './openapi/document.ts'
import { referenceOf } from './openapi/reference.ts'
import { makeStatic, type StaticContent } from './static-answer.ts'

const JSON_TYPE = 'application/json'
const API_DOCUMENT = '/openapi.json'

export class Shelf {
  readonly #world: World
  readonly #app: AnyElysia
  #facts: Facts | undefined
  #frame: Frame = { book: GUIDE, pages: [], stylesheet: STYLESHEET_ADDRESS }
  #missing: StaticContent | undefined
  readonly #made = new Map<string, StaticContent>()

  /** `app`: the app whose routes are described. */
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

  #contentOf(page: Page, path: string): Parameters<typeof makeStatic>[0] {
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
