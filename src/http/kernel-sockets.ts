/** This process's sockets as the kernel lists them. Source: proc(5), `/proc/net/tcp` and `/proc/pid/fd`. Linux only: elsewhere the list is empty. */

import { existsSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'

/** `inode` is the socket's number, by which a descriptor names it. */
type KernelSocket = Readonly<{ state: string; inode: string }>

const LISTEN = '0A'
const TIME_WAIT = '06'

/** Whether the kernel lists sockets. */
export const seesSockets = (): boolean => existsSync('/proc/self/net/tcp')

/** Descriptors of this process that listen on a port. */
export async function listenersOn(port: number): Promise<readonly number[]> {
  const [sockets, own] = await Promise.all([socketsOn(port), ownSockets()])
  return sockets.filter(({ state }) => state === LISTEN).flatMap(({ inode }) => own.get(inode) ?? [])
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
