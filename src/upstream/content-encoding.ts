/** Decompresses an answer while it arrives, for upstreams that compress although we send `accept-encoding: identity`. Rules: faults.md "Upstream calls". */

import { BodyStream } from './body-stream.ts'
import { PulledBody } from './pulled-body.ts'
import { PushedBody } from './pushed-body.ts'
import type { Body, BodySink, BodySource } from './upstream.ts'

type Encoding = ConstructorParameters<typeof DecompressionStream>[0]

const FORMATS: Readonly<Record<string, Encoding>> = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate', br: 'brotli', zstd: 'zstd' }

/**
 * The sink for the encoded body, and the decoded body. A body with an unknown encoding is passed on as it is: its reader finds neither a message nor a stream
 * in it.
 */
export function bodyOf(source: BodySource, encoding: string | undefined): Readonly<{ sink: BodySink; body: Body }> {
  const format = encoding === undefined ? undefined : FORMATS[encoding.toLowerCase()]
  if (format === undefined) {
    const body = new PushedBody(source)
    return { sink: body, body }
  }
  const sink = new BodyStream(source)
  const inflated = sink.stream.pipeThrough(new DecompressionStream(format) as ReadableWritablePair<Uint8Array, Uint8Array>)
  return { sink, body: new PulledBody(inflated) }
}
