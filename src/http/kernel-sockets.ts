/**
 * This process's sockets as the kernel knows them. Source: proc(5), `/proc/net/tcp` and `/proc/pid/fd`; socket(7), https://man7.org/linux/man-pages/man7/socket.7.html.
 * Linux only: elsewhere the list is empty.
 */

import { FFIType, ptr } from 'bun:ffi'
import { existsSync, readdirSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { libc } from '../ledger/libc.ts'

/** `inode` is the socket's number, by which a descriptor names it. */
type KernelSocket = Readonly<{ state: string; inode: string }>

const LISTEN = '0A'
const TIME_WAIT = '06'

/** Whether the kernel lists sockets. */
export const seesSockets = (): boolean => existsSync('/proc/self/net/tcp')

const { i32, ptr: pointer } = FFIType
const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
/** The families whose addresses have their port behind the family, in network order: IPv4 and IPv6. */
const WITH_PORT: readonly number[] = [2, 10]
const PORT_AT = 2
/** The size of `struct sockaddr_storage`. */
const ADDRESS_BYTES = 128

/**
 * Descriptors of this process that listen on a port. Each descriptor is asked, since the kernel's table has the sockets of the whole machine: at a start, while the first
 * requests come, to read it takes 20 ms of CPU where some thousand connections have ended.
 */
export function listenersOn(port: number): readonly number[] {
  const calls = libc({
    getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
    getsockname: { args: [i32, pointer, pointer], returns: i32 },
  })
  if (calls === undefined) return []
  const isListening = new Int32Array(1)
  const length = new Uint32Array(1)
  const address = new DataView(new ArrayBuffer(ADDRESS_BYTES))
  const listens = (fd: number): boolean => {
    length[0] = Int32Array.BYTES_PER_ELEMENT
    return calls.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(isListening), ptr(length)) === 0 && isListening[0] === 1
  }
  const isOnPort = (fd: number): boolean => {
    length[0] = ADDRESS_BYTES
    if (calls.getsockname(fd, ptr(address), ptr(length)) !== 0) return false
    return WITH_PORT.includes(address.getUint16(0, true)) && address.getUint16(PORT_AT) === port
  }
  return ownDescriptors().filter((fd) => listens(fd) && isOnPort(fd))
}

/** None where no descriptor is left to read the list by. */
function ownDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number)
  } catch {
    return []
  }
}

/** How many processes other than this one listen on a port. */
export async function othersOn(port: number): Promise<number> {
  const [sockets, own] = await Promise.all([socketsOn(port), ownSockets()])
  return sockets.filter(({ state, inode }) => state === LISTEN && !own.has(inode)).length
}

/** Connections of clients to a port, also those that are closed and still have bytes to send; undefined where the kernel does not tell. */
export async function connectionsOn(port: number): Promise<number | undefined> {
  const sockets = await socketsOn(port)
  return sockets.length === 0 ? undefined : sockets.filter(isConnection).length
}

/** Connections of clients to a shared port that this process has open; undefined where the kernel does not tell. */
export async function ownConnectionsOn(port: number): Promise<number | undefined> {
  if (!seesSockets()) return undefined
  const [sockets, own] = await Promise.all([socketsOn(port), ownSockets()])
  return sockets.filter((socket) => isConnection(socket) && own.has(socket.inode)).length
}

const isConnection = ({ state }: KernelSocket): boolean => state !== LISTEN && state !== TIME_WAIT

/** Descriptors of this process by the socket behind them. */
async function ownSockets(): Promise<ReadonlyMap<string, number>> {
  const descriptors = await readdir('/proc/self/fd').catch(() => [])
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return new Map(targets.map((target, index) => [/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '', Number(descriptors[index])]))
}

async function socketsOn(port: number): Promise<readonly KernelSocket[]> {
  const ours = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const tables = await Promise.all(['tcp', 'tcp6'].map((table) => readFile(`/proc/self/net/${table}`, 'latin1').catch(() => '')))
  return tables.flatMap((table) =>
    table.split('\n').flatMap((line) => {
      const [, local = '', , state = '', , , , , , inode = ''] = line.trim().split(/\s+/)
      return local.endsWith(ours) ? [{ state, inode }] : []
    }),
  )
}
