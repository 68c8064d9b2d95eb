/** A process finds its own listening sockets by their port, and takes no other for one. Rules: platform.md "Bun's server". */

import { expect, test } from 'bun:test'
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listenersOn } from '../../src/http/kernel-sockets.ts'

const linux = test.skipIf(process.platform !== 'linux')

const answering = (hostname: string) => Bun.serve({ hostname, port: 0, fetch: () => new Response('here') })

for (const hostname of ['127.0.0.1', '::1'])
  linux(`the one that listens on ${hostname} is found, and none once it is closed`, async () => {
    const [server, other] = [answering(hostname), answering(hostname)]
    const port = server.port ?? 0
    const socket = connect(port, hostname)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    // The server's end of an answered connection has the port, too.
    await new Promise((resolve) => socket.once('data', resolve))
    const found = listenersOn(port)
    expect(found.map((fd) => readlinkSync(`/proc/self/fd/${fd}`))).toEqual([expect.stringMatching(/^socket:\[\d+\]$/)])
    expect(listenersOn(other.port ?? 0)).not.toEqual(found)
    socket.destroy()
    await server.stop(true)
    expect(listenersOn(port)).toEqual([])
    await other.stop(true)
  })

linux('a socket with a path has no port, whatever its path begins with', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  const path = join(folder, 'socket')
  const server = Bun.serve({ unix: path, fetch: () => new Response('here') })
  // The place of a port is that of the path's first two characters.
  expect(listenersOn(Buffer.from(path).readUInt16BE())).toEqual([])
  await server.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

const WITHOUT_DESCRIPTORS = `
const { openSync } = require('node:fs')
const { listenersOn } = await import(process.argv[1])
const server = Bun.serve({ port: 0, fetch: () => new Response('here') })
const found = listenersOn(server.port).length
try {
  for (;;) openSync('/dev/null', 'r')
} catch {}
console.log(found, listenersOn(server.port).length)
process.exit(0)
`

linux('a process that has no descriptor left finds none of its listeners, and goes on: a reload and a drain ask for them', () => {
  const program = join(import.meta.dir, '../../src/http/kernel-sockets.ts')
  const limited = ['sh', '-c', 'ulimit -n 100 && exec "$@"', 'sh', process.execPath, '-e', WITHOUT_DESCRIPTORS, program]
  const { stdout, stderr } = Bun.spawnSync(limited)
  expect([stdout.toString(), stderr.toString()]).toEqual(['1 0\n', ''])
})
