/** The upstream of `neighbours` counts tokens, and answers with a short message, or with N megabytes where the request says `mb:N`. It prints its port. */

const message = (text: string): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'bench',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  )

const SHORT = message('Hi')
const LARGE = new Map<number, Uint8Array>()
const SIZE = /mb:(\d+)/

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request) {
    const body = Buffer.from(await request.arrayBuffer())
    if (request.url.endsWith('/count_tokens')) return Response.json({ input_tokens: 10 })
    const mb = Number(SIZE.exec(body.subarray(0, 1_000).toString('latin1'))?.[1] ?? 0)
    const answer = mb === 0 ? SHORT : (LARGE.get(mb) ?? message('x'.repeat(mb * 1_000_000)))
    if (mb !== 0) LARGE.set(mb, answer)
    return new Response(answer as Uint8Array<ArrayBuffer>, { headers: { 'content-type': 'application/json' } })
  },
})
console.log(server.port)
