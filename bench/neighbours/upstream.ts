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
const START_BYTES = 1_000

/** Reads a body to its end as it comes: to join it would take the CPU that is measured. Returns how it starts. */
async function startOf({ body }: Request): Promise<string> {
  let start = ''
  for await (const chunk of body ?? [])
    if (start.length < START_BYTES) start += Buffer.from(chunk.subarray(0, START_BYTES)).toString('latin1')
  return start
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request) {
    const start = await startOf(request)
    if (request.url.endsWith('/count_tokens')) return Response.json({ input_tokens: 10 })
    const mb = Number(SIZE.exec(start)?.[1] ?? 0)
    const answer = mb === 0 ? SHORT : (LARGE.get(mb) ?? message('x'.repeat(mb * 1_000_000)))
    if (mb !== 0) LARGE.set(mb, answer)
    return new Response(answer as Uint8Array<ArrayBuffer>, { headers: { 'content-type': 'application/json' } })
  },
})
console.log(server.port)
