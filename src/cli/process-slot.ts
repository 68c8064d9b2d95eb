/** One of the processes of `serve --processes`: its number, and its share of the configuration and the machine. Rules: operator.md "Processes". */

import { InvalidArgumentError } from 'commander'
import type { Config } from '../config/config.ts'

/** `index` counts from 1. */
export type ProcessSlot = Readonly<{ index: number; count: number }>

export const textOfSlot = ({ index, count }: ProcessSlot): string => `${index}/${count}`

export function readSlot(text: string): ProcessSlot {
  const [, index, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []
  if (index === undefined || count === undefined) throw new InvalidArgumentError('expected a number, "/" and how many there are.')
  return { index: Number(index), count: Number(count) }
}

/** A node of its own, with an operator's port of its own: the configured one is the first's, the others follow it. */
export function configOfSlot(config: Config, { index }: ProcessSlot): Config {
  const { ledger, operator } = config
  const port = operator.port === 0 ? 0 : operator.port + index - 1
  return {
    ...config,
    operator: { ...operator, port },
    ledger: ledger.kind === 'sqlite' ? ledger : { ...ledger, node: `${ledger.node}/${index}` },
  }
}

/** Why so many cannot run on this configuration; undefined: they can. */
export function slotsProblem({ ledger, operator }: Config, count: number): string | undefined {
  if (count === 1) return undefined
  if (ledger.kind === 'sqlite')
    return `${count} processes need a ledger on Postgres, which [ledger] url_env names: a ledger in a file is written by one process`
  if (operator.port + count - 1 > PORT_MAX)
    return `each process has an operator's port of its own, from operator.port (${operator.port}) on: ${count} do not fit below ${PORT_MAX}`
  return undefined
}

const PORT_MAX = 65_535
