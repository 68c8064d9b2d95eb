/**
 * `tollgate upstreams`: the state of the upstreams in the running gateways, and taking one out. Rules: pool.md "Taking one out"; operator.md "Socket",
 * "Processes", "Audit".
 */

import type { Command } from 'commander'
import { isoOrNull } from '../core/utc.ts'
import { callersAmong, silentOf, upstreamsThroughSockets } from '../operator/ask-gateways.ts'
import { type OrderResult, orderEverywhere } from '../operator/order-everywhere.ts'
import { ownActor } from '../operator/peer.ts'
import { socketsOf } from '../operator/socket-files.ts'
import type { UpstreamModelReport, UpstreamReport } from '../upstream/member.ts'
import { type CommandContext, type Run, tell, withJson } from './command-context.ts'
import { EXIT, type ExitCode, noLedger, type Stop, wrongUse } from './environment.ts'
import { type Why, withReason } from './operate.ts'
import { unanswered } from './several.ts'
import { tableText } from './text.ts'
import { addProbe } from './upstreams-probe.ts'

export function addUpstreams(program: Command, run: Run): void {
  const upstreams = program.command('upstreams').description('see how the upstreams of the running gateways do, take one out, put it back')
  const list = withJson(upstreams.command('list')).description('calls, breakers, first-event times and who took which out')
  list.action(() => run(list, listUpstreams))
  const out = withReason(withJson(upstreams.command('out <NAME>')))
  out.description('calls that run go on to their end, nothing new begins; until `in` or a restart')
  out.action((name: string, options: Why) => run(out, (context) => setOut(context, name, true, options)))
  const back = withReason(withJson(upstreams.command('in <NAME>'))).description('it takes calls again')
  addProbe(upstreams, run)
  back.action((name: string, options: Why) => run(back, (context) => setOut(context, name, false, options)))
}

type Done = Extract<OrderResult, { result: 'done' }>

/** An upstream in one of several processes. */
type UpstreamRow = Readonly<{ pid: number | null; node: string | null; report: UpstreamReport }>

async function listUpstreams(context: CommandContext): Promise<ExitCode | Stop> {
  const answers = callersAmong(await upstreamsThroughSockets(socketsOf(context.config.ledger)))
  const places = answers.flatMap(({ socket: { pid }, said }) =>
    said === 'silent' ? [] : said.reports.map((report): UpstreamRow => ({ pid, node: said.node, report })),
  )
  const silent = silentOf(answers)
  if (answers.length === 0) return noneRuns(context)
  if (silent.length === answers.length) return noLedger('the gateway did not answer')
  if (answers.length === 1)
    context.say({ data: places.map(({ report }) => documentOf(report)) }, () =>
      tableText(
        HEAD,
        places.flatMap(({ report }) => rowsOf(report)),
        '',
      ),
    )
  else sayPlaces(context, places)
  return silent.length === 0 ? EXIT.ok : tell(context.environment, unanswered(silent, 'how its upstreams do is missing'))
}

/** Rows of one upstream stand together, so that one which is out in one process only is seen. */
function sayPlaces({ say }: CommandContext, places: readonly UpstreamRow[]): void {
  const ordered = [...Map.groupBy(places, ({ report }) => report.name).values()].flat()
  say({ data: ordered.map(({ pid, node, report }) => ({ process: node, pid, ...documentOf(report) })) }, () =>
    tableText(
      ['PROCESS', ...HEAD],
      ordered.flatMap(({ pid, node, report }) => rowsOf(report).map((row, index) => [index === 0 ? processText(node, pid) : '', ...row])),
      '',
    ),
  )
}

/** A relay has a number alone, since only nodes have names. */
const processText = (node: string | null, pid: number | null): string => (node === null ? `${pid ?? '-'}` : `${node} (${pid ?? '-'})`)

async function setOut(context: CommandContext, name: string, isOut: boolean, { reason = '' }: Why): Promise<ExitCode | Stop> {
  const { config, environment } = context
  const order = { upstream: name, isOut, isNoted: false, act: { actor: ownActor(), address: 'socket', reason }, now: environment.now() }
  const done = await orderEverywhere(config.ledger, order)
  if (done === 'absent') return noneRuns(context)
  if (done.result === 'refused') return wrongUse(done.problem)
  if (done.result === 'unavailable') return noLedger('the gateway did not confirm it; see `tollgate upstreams list`')
  const { isNew, running, left, count, places, silent } = done
  const several = count === 1 ? {} : { processes: places, unanswered: silent.map(({ pid }) => pid) }
  const document = { name, is_out: isOut, already: !isNew, in_flight: running, left, ...several }
  context.say(document, () => sentenceOf(name, isOut, done))
  return silent.length === 0 ? EXIT.ok : tell(environment, unanswered(silent, `${name} may be ${isOut ? 'in' : 'out'} there still`))
}

const noneRuns = ({ config }: CommandContext): Stop =>
  noLedger(
    config.ledger.kind === 'sqlite'
      ? 'no gateway runs on this ledger, and only a running one has upstreams to ask'
      : 'no gateway of this ledger runs here, and only a running one has upstreams to ask',
  )

function sentenceOf(name: string, isOut: boolean, { isNew, running, left, count, places }: Done): string {
  const where = count === 1 ? '' : ` in ${places} process${places === 1 ? '' : 'es'}`
  if (!isNew) return `${name} was ${isOut ? 'out' : 'in'}${where} already.`
  if (!isOut) return `${name} takes calls again${where}.`
  const how = count === 1 ? 'not over a restart' : 'and in a process that begins beside these, not over a restart of all'
  const rest = left === 0 ? ' No upstream is left: requests are 503.' : ''
  return `${name} is out${where}: ${running} calls run on to their end, none begins. It stays out over SIGHUP, ${how}.${rest}`
}

const documentOf = ({ name, priority, weight, running, waiting, out, lastFailure, models }: UpstreamReport) => ({
  name,
  priority,
  weight,
  in_flight: running,
  waiting,
  out: out && { by: out.by, reason: out.reason, since: isoOrNull(out.at) },
  last_failure: lastFailure && { cause: lastFailure.cause, model: lastFailure.model, at: isoOrNull(lastFailure.at) },
  models: models.map(({ model, breaker, probeInMs, firstEventMs, share }) => ({
    model,
    breaker,
    probe_in_ms: probeInMs,
    first_event_ms: firstEventMs,
    share,
  })),
})

const HEAD = ['UPSTREAM', 'STATE', 'PRIORITY', 'WEIGHT', 'RUNNING', 'WAITING', 'MODEL', 'BREAKER', 'FIRST EVENT', 'SHARE']

function rowsOf({ name, priority, weight, running, waiting, out, models }: UpstreamReport): readonly (readonly string[])[] {
  const state = out === null ? 'in' : `out by ${out.by}${out.reason === '' ? '' : `: ${out.reason}`}`
  const own = [name, state, String(priority), String(weight), String(running), String(waiting)]
  if (models.length === 0) return [[...own, '-', '-', '-', '-']]
  return models.map((line, index) => [...(index === 0 ? own : own.map(() => '')), ...cellsOf(line)])
}

const cellsOf = ({ model, breaker, probeInMs, firstEventMs, share }: UpstreamModelReport): readonly string[] => [
  model,
  probeInMs === null ? breaker : `${breaker}, ${(probeInMs / 1_000).toFixed(1)} s`,
  firstEventMs === 0 ? '-' : `${firstEventMs} ms`,
  String(share),
]
