/** How a stream's answer begins, before the stream says anything. Rules: requests.md "First event". */

/** An SSE comment: the stream has begun, though the upstream has not. */
export const OPENING = new TextEncoder().encode(': ok\n\n')

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
