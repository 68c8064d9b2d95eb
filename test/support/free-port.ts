/** Ports for servers that cannot be given port 0. */

import { randomInt } from 'node:crypto'

/** Below those that the kernel gives to who asks for port 0, on Linux from 32,768 on, so that no server of another test takes it before it is listened on. */
export const likelyFreePort = (): number => 10_000 + randomInt(22_000)

/** A port on 127.0.0.1 that nothing listens on. */
export function freePort(): number {
  for (;;) {
    const port = likelyFreePort()
    if (isFree(port)) return port
  }
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }).stop(true)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
    throw error
  }
}
