/**
 * A listening socket that takes no connection: nobody accepts, and its short queue is full, so that the kernel drops what asks for more. To a client it is an
 * address behind a firewall that says nothing. Linux's libc. Source: listen(2), https://man7.org/linux/man-pages/man2/listen.2.html
 */

import { dlopen, FFIType, ptr } from 'bun:ffi'
import type { Socket } from 'bun'

const { i32, u32, pointer } = FFIType
const AF_INET = 2
const SOCK_STREAM = 1

export async function startFullListener(): Promise<Readonly<{ port: number; stop(): void }>> {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: [i32, i32, i32], returns: i32 },
    bind: { args: [i32, pointer, u32], returns: i32 },
    listen: { args: [i32, i32], returns: i32 },
    getsockname: { args: [i32, pointer, pointer], returns: i32 },
    close: { args: [i32], returns: i32 },
  })
  const address = new Uint8Array(16)
  const view = new DataView(address.buffer)
  view.setUint16(0, AF_INET, true)
  view.setUint32(4, 0x7f000001)
  const fd = symbols.socket(AF_INET, SOCK_STREAM, 0)
  const length = new Uint32Array([address.length])
  const failed = symbols.bind(fd, ptr(address), address.length) + symbols.listen(fd, 0) + symbols.getsockname(fd, ptr(address), ptr(length))
  if (failed !== 0) throw new Error('no listening socket')
  const port = view.getUint16(2)
  const inQueue: Socket[] = []
  const fill = async (): Promise<void> => {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => undefined } })
    inQueue.push(socket)
  }
  // One more than the queue's length is taken; who is not taken never hears of it.
  for (let index = 0; index < 4; index++) fill().catch(() => undefined)
  await Bun.sleep(100)
  return {
    port,
    stop: () => {
      for (const socket of inQueue) socket.terminate()
      symbols.close(fd)
    },
  }
}
