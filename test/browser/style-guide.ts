/**
 * `bun test/browser/style-guide.ts`: the style guide at `/console/styles`, on a port of its own, for people who change a part. No file of the product imports it or its page,
 * so that a gateway cannot serve it. Rules: pages.md "Style guide".
 */

import { join } from 'node:path'
import { answerStatic } from '../../src/http/static-answer.ts'
import { assetsOf } from '../../src/web/assets.ts'

const PATH = '/console/styles'
const SOURCE = join(import.meta.dir, '../../src/web/styles/index.html')

export async function serveStyleGuide(): Promise<Readonly<{ url: string; stop: () => Promise<void> }>> {
  const assets = await assetsOf({ index: SOURCE }, `${PATH}/assets/`)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url)
      const content = pathname === PATH ? assets.page : assets.asset(pathname.slice(`${PATH}/assets/`.length))
      return content === undefined ? new Response(null, { status: 404 }) : answerStatic(request, content, {})
    },
  })
  return { url: new URL(PATH, server.url).href, stop: () => server.stop(true) }
}

if (import.meta.main) console.log((await serveStyleGuide()).url)
