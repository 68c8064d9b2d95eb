/**
 * What the kernel of this machine may keep of one direction of a TCP connection, beside what either end has: as much as its largest send and receive buffers.
 * Source: tcp(7), https://man7.org/linux/man-pages/man7/tcp.7.html
 */

import { readFileSync } from 'node:fs'

/** The third figure of each. */
const largest = (name: string): number => Number(readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8').trim().split(/\s+/)[2])

export const CONNECTION_BYTES_MAX = largest('tcp_wmem') + largest('tcp_rmem')
