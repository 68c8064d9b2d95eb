/** The routes that every set of pages has: its assets, and for every other path the page, whose script decides what it shows there. Rules: pages.md "Assets". */

import type { HTMLBundle } from 'bun'
import { Elysia } from 'elysia'
import { answerStatic } from '../http/static-answer.ts'
import { missing } from './api/answers.ts'
import { type Assets, assetsOf } from './assets.ts'

/** `root`: `/cabinet` or `/console`. `html`: the imported page. */
export function pageRoutes(root: string, html: HTMLBundle) {
  let loading: Promise<Assets> | undefined
  const load = (): Promise<Assets> => {
    loading ??= assetsOf(html, `${root}/assets/`)
    return loading
  }
  const answerPage = async ({ request }: { request: Request }): Promise<Response> => answerStatic(request, (await load()).page, {})
  return new Elysia({ name: `page ${root}` })
    .get(root, answerPage)
    .get(`${root}/assets/:name`, async ({ request, params }) => {
      const content = (await load()).asset(params.name)
      return content === undefined ? missing() : answerStatic(request, content, {})
    })
    .get(`${root}/*`, answerPage)
    .get(`${root}/api/*`, missing)
    .all(`${root}/api/*`, missing)
}
