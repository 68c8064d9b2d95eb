/** Answers as files. A page of another site cannot make a browser fetch a file: it could not read the file, but would cause work. Rules: pages.md "Spend". */

import { refuse } from './answers.ts'

/** A refusal for a request from another site; undefined: the request may go on. */
export const refuseForeign = ({ headers }: Request): Response | undefined =>
  headers.get('sec-fetch-site') === 'cross-site' ? refuse(403, 'Take this file from the pages of the cabinet') : undefined

/** `name`: of ASCII letters, digits, `.`, `-` and `_` alone. */
export const download = (body: string | ReadableStream<Uint8Array>, type: string, name: string): Response =>
  new Response(body, {
    headers: {
      'content-type': type,
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'x-accel-buffering': 'no',
    },
  })

export const CSV = 'text/csv; charset=utf-8; header=present'
