/** `tollgate nodes list`: the processes that write the ledger, and their state. Rules: nodes.md "Lanes and leases"; operator.md "Commands", "Two ledgers". */

import type { Command } from 'commander'
import { usdFields, ZERO } from '../core/money.ts'
import { differenceText } from '../core/node-facts.ts'
import { isoOrNull } from '../core/utc.ts'
import type { NodeReport } from '../ledger/nodes.ts'
import { differencesOf } from '../ledger/postgres/nodes-report.ts'
import { isGatewayRunning } from '../operator/ask-gateways.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop } from './environment.ts'
import { readReport } from './read-report.ts'
import { tableText, timeText, usdText } from './text.ts'

export function addNodes(program: Command, run: Run): void {
  const nodes = program.command('nodes').description('look at the processes that write the ledger')
  const list = withJson(nodes.command('list')).description(
    'each with its lane, version, since when it runs, when it was last heard of and what is leased to it; and in what they differ',
  )
  list.action(() => run(list, listNodes))
}

async function listNodes(context: CommandContext): Promise<ExitCode | Stop> {
  if (context.config.ledger.kind === 'sqlite') return await sayTheOne(context, context.config.ledger.path)
  const nodes = readReport(context, (report) => report.nodes())
  if (isStop(nodes)) return nodes
  const differs = differencesOf(nodes)
  context.say({ data: nodes.map(nodeDocument), differs }, () =>
    [nodeTable(nodes), ...differs.map((difference) => `They differ in ${differenceText(difference)}`)].join('\n'),
  )
  return EXIT.ok
}

/** Shows the one writer of a ledger in a file; it has no name. */
async function sayTheOne({ say }: CommandContext, path: string): Promise<ExitCode> {
  const isRunning = await isGatewayRunning(path)
  const state = isRunning ? 'running' : 'free'
  const unknown = { facts: {}, name: null, since: null, last_heartbeat: null, lease_until: null, requests: null }
  say({ data: [{ lane: 0, state, ...unknown, ...usdFields('leased', ZERO) }], differs: [] }, () =>
    [
      `The ledger is a file, ${path}: one process at a time writes it, so there is one node.`,
      isRunning ? 'A gateway is running on it.' : 'No gateway is running on it.',
    ].join('\n'),
  )
  return EXIT.ok
}

const nodeDocument = ({ lane, name, state, startedAt, beatAt, leaseUntil, leasedPicos, requestCount, facts }: NodeReport) => ({
  lane,
  state,
  name,
  since: isoOrNull(startedAt),
  last_heartbeat: isoOrNull(beatAt),
  lease_until: isoOrNull(leaseUntil ?? null),
  requests: requestCount,
  facts,
  ...usdFields('leased', leasedPicos),
})

const nodeTable = (nodes: readonly NodeReport[]): string =>
  tableText(
    ['LANE', 'NAME', 'STATE', 'VERSION', 'SINCE', 'LAST HEARD OF', 'LEASED', 'REQUESTS'],
    nodes.map(({ lane, name, state, startedAt, beatAt, leasedPicos, requestCount, facts }) => [
      String(lane),
      name,
      state,
      facts['version'] ?? '–',
      timeText(startedAt),
      timeText(beatAt),
      usdText(leasedPicos),
      String(requestCount),
    ]),
    'No node has written this ledger yet.',
  )
