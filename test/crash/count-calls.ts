/**
 * Preloaded into a simulator's process: a line for every model call that arrives, in the file that `CALLS_FILE` names, on disk before the call is answered.
 * What arrived is known also of a process that was killed.
 */

import { appendFileSync } from 'node:fs'

const path = process.env['CALLS_FILE'] ?? ''
/** What the gateway or the test asks beside calls of a model, behind whichever door. */
const OTHERS = new Set(['/faults', '/token'])
const serve = Bun.serve.bind(Bun)

Bun.serve = ((options: { fetch: (request: Request) => Promise<Response> }) =>
  serve({
    ...options,
    fetch(request: Request) {
      if (!OTHERS.has(new URL(request.url).pathname)) appendFileSync(path, '+\n')
      return options.fetch(request)
    },
  })) as typeof Bun.serve
