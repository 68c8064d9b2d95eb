/** `tollgate upstreams probe`: a few tiny requests to an upstream, and the settings that it needs. Rules: operator.md "Commands". */

import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { textOfProblem } from '../config/problems.ts'
import type { Model } from '../core/catalog.ts'
import { type Picos, picos, toUsdText, ZERO } from '../core/money.ts'
import { holdFor } from '../core/pricing.ts'
import { upstreamOf } from '../members.ts'
import { type CommandContext, configOption, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, type Stop, wrongUse } from './environment.ts'
import { bodyOf, probe } from './probe-calls.ts'
import { CHECKS, type ProbeFinding } from './probe-findings.ts'
import { tableText } from './text.ts'

type ProbeOptions = Readonly<{ model?: string; yes?: true }>

export function addProbe(upstreams: Command, run: Run): void {
  const command = withJson(upstreams.command('probe <NAME>'))
    .description('ask an upstream a few tiny paid requests, and say which settings it needs')
    .option('--model <ID>', 'the model to ask for; default the first that it serves')
    .option('--yes', 'make the calls; without it only what they cost at most is said')
  command.action((name: string, options: ProbeOptions) =>
    run(command, (context) => probeUpstream(context, configOption(command), name, options)),
  )
}

async function probeUpstream(
  { environment, say }: CommandContext,
  file: string | undefined,
  name: string,
  { model: wanted, yes }: ProbeOptions,
): Promise<ExitCode | Stop> {
  const { folder, env } = environment
  const config = loadConfig({ file, folder, env, needsSecrets: { ofUpstream: name } })
  if ('problems' in config) return wrongUse(`the configuration has mistakes: ${config.problems.map(textOfProblem).join('; ')}`)
  const upstream = config.upstreams.find((one) => one.name === name)
  if (upstream === undefined) return wrongUse(`no upstream is named ${name}`)
  if (upstream.door.kind === 'openai')
    return wrongUse(`${name} speaks chat, and a probe asks in the native format; tollgate doctor --calls asks it for a token`)
  const served = servedBy(name, config)
  const asked = wanted === undefined ? served[0] : served.find(({ model }) => model.id === wanted)
  if (asked === undefined) return wrongUse(wanted === undefined ? `${name} serves no model` : `${name} does not serve ${wanted}`)
  const { model, id } = asked
  const most = CHECKS.reduce<Picos>(
    (sum, { call, outputTokensMax }) => picos(sum + priceOf(bodyOf(call, id), outputTokensMax, model)),
    ZERO,
  )
  environment.stderr(`tollgate: ${CHECKS.length} calls of ${id} at ${name}, which cost at most $${toUsdText(most)} in all\n`)
  if (yes !== true) return wrongUse('nothing was called; --yes makes the calls')
  const to = upstreamOf(upstream)
  const findings: ProbeFinding[] = []
  for (const { check, call, judge } of CHECKS) {
    const probed = await probe(to, model, id, call)
    if (findings.length === 0 && probed.kind === 'failed') return noAnswer(say, name, probed.cause)
    findings.push(...judge(probed, id).map((finding) => ({ check, ...finding })))
  }
  const settings = findings.flatMap(({ setting }) => (setting === '' ? [] : [setting]))
  say({ data: findings, settings }, () => textOf(findings, settings))
  return EXIT.ok
}

function noAnswer(say: CommandContext['say'], name: string, cause: string): ExitCode {
  say({ data: [], settings: [], problem: cause }, () => `${name} gives no answer (${cause}); nothing else was asked.`)
  return EXIT.finding
}

type Served = Readonly<{ model: Model; id: string }>

const servedBy = (name: string, { catalog }: Config): readonly Served[] =>
  [...catalog.models.values()].flatMap((model) =>
    model.upstreams.filter((one) => one.name === name).map((one) => ({ model, id: one.model })),
  )

const priceOf = (body: string, outputTokensMax: number, model: Model): Picos =>
  outputTokensMax === 0
    ? ZERO
    : holdFor(
        { bodyBytes: body.length, hasOpaqueInput: false, passes: 0, serverToolUsesMax: 0, cacheWrites: 'none', outputTokensMax },
        model,
        model.contextWindow,
      )

const textOf = (findings: readonly ProbeFinding[], settings: readonly string[]): string => {
  const table = tableText(
    ['CHECK', 'FOUND'],
    findings.map(({ check, found }) => [check, found]),
    '',
  )
  return `${table}\n\n${settings.length === 0 ? 'It needs no setting of its own.' : `It needs:\n${settings.join('\n')}`}`
}
