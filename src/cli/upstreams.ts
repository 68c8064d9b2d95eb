/** `tollgate upstreams`: how the running gateway's upstreams do, and taking one out. Rules: pool.md "Taking one out"; operator.md "Socket", "Audit". */

import type { Command } from 'commander'
import { isoOrNull } from '../core/utc.ts'
import { orderUpstreamThroughSocket, upstreamsThroughSocket } from '../operator/operator-socket.ts'
import { ownActor } from '../operator/peer.ts'
import type { LineReport, UpstreamReport } from '../upstream/member.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, noLedger, type Stop, wrongUse } from './environment.ts'
import { type Why, withReason } from './operate.ts'
import { tableText } from './text.ts'

const NONE_RUNS = 'no gateway runs on this ledger, and only a running one has upstreams to ask'

export function addUpstreams(program: Command, run: Run): void {
  const upstreams = program.command('upstreams').description('see how the upstreams of the running gateway do, take one out, put it back')
  const list = withJson(upstreams.command('list')).description('calls, breakers, first-event times and who took which out')
  list.action(() => run(list, listUpstreams))
  const out = withReason(withJson(upstreams.command('out <NAME>')))
  out.description('calls that run go on to their end, nothing new begins; until `in` or a restart')
  out.action((name: string, options: Why) => run(out, (context) => setOut(context, name, true, options)))
  const back = withReason(withJson(upstreams.command('in <NAME>'))).description('it takes calls again')
  back.action((name: string, options: Why) => run(back, (context) => setOut(context, name, false, options)))
}

async function listUpstreams(context: CommandContext): Promise<ExitCode | Stop> {
  const found = await upstreamsThroughSocket(context.config.ledger.path)
  if (found === 'absent') return noLedger(NONE_RUNS)
  if (found === 'unavailable') return noLedger('the gateway did not answer')
  context.say({ data: found.map(documentOf) }, () => tableText(HEAD, found.flatMap(rowsOf), ''))
  return EXIT.ok
}

async function setOut(context: CommandContext, name: string, isOut: boolean, { reason = '' }: Why): Promise<ExitCode | Stop> {
  const order = { upstream: name, isOut, act: { actor: ownActor(), address: 'socket', reason }, now: context.environment.now() }
  const done = await orderUpstreamThroughSocket(context.config.ledger.path, order)
  if (done === 'absent') return noLedger(NONE_RUNS)
  if (done.result === 'refused') return wrongUse(done.problem)
  if (done.result === 'unavailable') return noLedger('the gateway did not confirm it; see `tollgate upstreams list`')
  const { isNew, running, left } = done
  const document = { name, is_out: isOut, already: !isNew, in_flight: running, left }
  context.say(document, () => sentenceOf(name, isOut, isNew, running, left))
  return EXIT.ok
}

function sentenceOf(name: string, isOut: boolean, isNew: boolean, running: number, left: number): string {
  if (!isNew) return `${name} was ${isOut ? 'out' : 'in'} already.`
  if (!isOut) return `${name} takes calls again.`
  const rest = left === 0 ? ' No upstream is left: requests are 503.' : ''
  return `${name} is out: ${running} calls run on to their end, none begins. It stays out over SIGHUP, not over a restart.${rest}`
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

const cellsOf = ({ model, breaker, probeInMs, firstEventMs, share }: LineReport): readonly string[] => [
  model,
  probeInMs === null ? breaker : `${breaker}, ${(probeInMs / 1_000).toFixed(1)} s`,
  firstEventMs === 0 ? '-' : `${firstEventMs} ms`,
  String(share),
]
