/**
 * R, what all ratios are of: the least that a proxy can be on this runtime. Reads the body, passes it on, passes the answer back. Run with the upstream's
 * address.
 */

const UPSTREAM = process.argv[2] ?? ''

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const answer = await fetch(UPSTREAM, { method: 'POST', headers: { 'content-type': 'application/json' }, body: await request.text() })
    return new Response(answer.body, { headers: { 'content-type': answer.headers.get('content-type') ?? '' } })
  },
})
process.on('disconnect', () => process.exit())
process.send?.({ port: server.port })
