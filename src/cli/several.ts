/** The replies of several processes as one output of a command. Rules: operator.md "Processes". */

import type { SocketFile } from '../operator/socket-files.ts'
import { EXIT, type Stop } from './environment.ts'

/** `so`: what the silence means. The stop is a finding, since the other processes did answer. */
export function unanswered(silent: readonly SocketFile[], so: string): Stop {
  const pids = silent.map(({ pid }) => pid).join(', ')
  return { stop: `${silent.length === 1 ? 'process' : 'processes'} ${pids} did not answer: ${so}`, exitCode: EXIT.finding }
}
