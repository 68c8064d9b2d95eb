/** One of the processes of `serve --processes`: its number, and its share of the configuration and the machine. Rules: operator.md "Processes". */

import { availableParallelism } from 'node:os'
import { InvalidArgumentError } from 'commander'
import type { Config } from '../config/config.ts'

/** `index` counts from 1; 0 is the ledger process, which only a ledger in a file has. */
export type ProcessSlot = Readonly<{ index: number; count: number }>

/** Stands for as many processes as the machine has cores, less one core for the ledger process and all else. */
const AUTO = 'auto'
const COUNT_MAX = 256

export function readCount(text: string): number {
  const count = text === AUTO ? Math.min(COUNT_MAX, Math.max(1, availableParallelism() - 1)) : Number(text)
  if (!/^(?:\d{1,3}|auto)$/.test(text) || count < 1 || count > COUNT_MAX)
    throw new InvalidArgumentError(`expected a number from 1 to ${COUNT_MAX}, or ${AUTO}.`)
  return count
}

export const textOfSlot = ({ index, count }: ProcessSlot): string => `${index}/${count}`

export function readSlot(text: string): ProcessSlot {
  const [, index, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []
  if (index === undefined || count === undefined) throw new InvalidArgumentError('expected a number, "/" and how many there are.')
  return { index: Number(index), count: Number(count) }
}

/** Process ids with commas between them. */
export const readPids = (text: string): readonly number[] =>
  text
    .split(',')
    .filter((pid) => /^\d+$/.test(pid))
    .map(Number)

/** The configuration of one process, a node or a relay with its own operator's port: process 1 has the configured port, the others the next ones, the ledger process the last. */
export function configOfSlot(config: Config, { index, count }: ProcessSlot): Config {
  const { ledger, operator } = config
  const port = operator.port === 0 ? 0 : operator.port + (index === 0 ? count : index - 1)
  const part = index === 0 ? 'ledger process' : 'relay'
  return {
    ...config,
    operator: { ...operator, port },
    ledger: ledger.kind === 'sqlite' ? { ...ledger, part } : { ...ledger, node: `${ledger.node}/${index}` },
  }
}

/** Why so many processes cannot run on this configuration; undefined: they can. */
export function slotsProblem({ ledger, operator }: Config, count: number, platform: string = process.platform): string | undefined {
  if (count === 1) return undefined
  if (ledger.kind === 'sqlite' && platform !== 'linux')
    return `${count} processes on a ledger in a file need Linux; elsewhere they need one on Postgres, which [ledger] url_env names`
  const ports = ledger.kind === 'sqlite' ? count + 1 : count
  if (operator.port + ports - 1 > PORT_MAX)
    return `each process has an operator's port of its own, from operator.port (${operator.port}) on: ${ports} do not fit below ${PORT_MAX}`
  return undefined
}

const PORT_MAX = 65_535
