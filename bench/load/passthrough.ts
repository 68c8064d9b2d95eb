/**
 * R, the reference of all ratios: the least that a proxy on this runtime can do. It reads the body, passes it on, and passes the answer back. Its argument is the
 * upstream's address.
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
