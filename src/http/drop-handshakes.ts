/**
 * Makes a listening socket answer no new handshake while those under way finish. When the socket is closed a moment later, no connection on which a request
 * was sent is reset: a client whose handshake was dropped tries again after a second (https://www.rfc-editor.org/rfc/rfc6298#section-2), is refused, and
 * connects elsewhere. Done by a packet filter on the socket (https://www.kernel.org/doc/html/latest/networking/filter.html). Linux only. Rules: operator.md
 * "Shutdown".
 */

import { FFIType, ptr } from 'bun:ffi'
import { libc } from '../ledger/libc.ts'

const { i32, u32, ptr: pointer } = FFIType
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26

/** Where TCP's flags are, counted from the TCP header, at which the filter begins to read. */
const FLAGS_AT = 13
const SYN = 0x02
const ACK = 0x10

/** Each instruction is code, jump if true, jump if false, operand (`struct sock_filter`). */
const PROGRAM = [
  [0x30, 0, 0, FLAGS_AT],
  [0x54, 0, 0, SYN | ACK],
  [0x15, 0, 1, SYN],
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xff_ff_ff_ff],
] as const
const INSTRUCTION_BYTES = 8

/** False where the kernel does not attach the filter to one of the sockets. */
export function dropHandshakes(sockets: readonly number[]): boolean {
  const calls = libc({ setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } })
  if (calls === undefined || sockets.length === 0) return false
  const program = new DataView(new ArrayBuffer(PROGRAM.length * INSTRUCTION_BYTES))
  for (const [index, [code, ifTrue, ifFalse, operand]] of PROGRAM.entries()) {
    const at = index * INSTRUCTION_BYTES
    program.setUint16(at, code, true)
    program.setUint8(at + 2, ifTrue)
    program.setUint8(at + 3, ifFalse)
    program.setUint32(at + 4, operand, true)
  }
  // `struct sock_fprog`: the number of instructions, and their address.
  const filter = new BigUint64Array([BigInt(PROGRAM.length), BigInt(ptr(program))])
  return sockets
    .map((socket) => calls.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, ptr(filter), filter.byteLength) === 0)
    .every(Boolean)
}
