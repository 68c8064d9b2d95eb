/**
 * `tollgate check-config`: every mistake of the configuration, secrets included; or a summary, with the settings that have no effect and those that are weak.
 * Rules: operator.md "Configuration", "What is weak", "Commands".
 */

import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { textOfLedger } from '../config/make-ledger.ts'
import { type ConfigProblems, textOfProblem } from '../config/problems.ts'
import { type RateLimits, ratesAsSet, rateText } from '../core/token-buckets.ts'
import { type CommandContext, configOption, printer, tell, withJson } from './command-context.ts'
import { type CliEnvironment, EXIT, type ExitCode, isStop, type Stop } from './environment.ts'
import { setUpOf, weaknessesOf } from './set-up.ts'

export function addCheckConfig(program: Command, environment: CliEnvironment, setExitCode: (code: ExitCode) => void): void {
  const check = withJson(program.command('check-config')).description('find every mistake in the configuration; 1 when there is one')
  check.option('--diff', 'ask the running gateway what a reload would change')
  check.action(async ({ diff = false }: Readonly<{ diff?: boolean }>) => {
    const found = diff ? await diffConfig(check, environment) : checkConfig(check, environment)
    setExitCode(isStop(found) ? tell(environment, found) : found)
  })
}

/** The secrets are the gateway's to look for: it has an environment of its own. */
async function diffConfig(command: Command, environment: CliEnvironment): Promise<ExitCode | Stop> {
  const config = loadConfig({ file: configOption(command), folder: environment.folder, env: environment.env, needsSecrets: false })
  const say = printer(environment, command)
  if ('problems' in config) return sayProblems(config, say)
  return (await import('./reload-diff.ts')).reloadDiff({ config, say })
}

function checkConfig(command: Command, environment: CliEnvironment): ExitCode {
  const say = printer(environment, command)
  const config = loadConfig({ file: configOption(command), folder: environment.folder, env: environment.env })
  if ('problems' in config) return sayProblems(config, say)
  const { file = null, withoutEffect } = config
  const [setUp, weak] = [setUpOf(config), weaknessesOf(config)]
  say(
    {
      ok: true,
      file,
      problems: [],
      without_effect: withoutEffect,
      weak,
      ...summaryOf(config),
      rates: ratesDocument(config),
      set_up: setUp,
    },
    () =>
      [
        summaryText(config),
        ...ratesOf(config).map(([plan, rates]) => `  plan ${plan}: ${rateText(rates)}`),
        ...Object.entries(setUp).map(([part, is]) => `  ${part}: ${is}`),
        ...withoutEffect.map((setting) => `  ${textOfProblem(setting)}`),
        ...weak.map((setting) => `  weak: ${textOfProblem(setting)}`),
      ].join('\n'),
  )
  return EXIT.ok
}

function sayProblems({ file, problems }: ConfigProblems, say: CommandContext['say']): ExitCode {
  say({ ok: false, file: file ?? null, problems }, () =>
    [`${file} has mistakes:`, ...problems.map((problem) => `  ${textOfProblem(problem)}`)].join('\n'),
  )
  return EXIT.finding
}

const summaryOf = ({ upstreams, catalog, ledger }: Config) => ({
  ledger: textOfLedger(ledger),
  upstreams: upstreams.map(({ name }) => name),
  models: [...catalog.models.keys()],
  plans: [...catalog.plans.keys()],
})

const ratesDocument = (config: Config) => Object.fromEntries(ratesOf(config).map(([plan, rates]) => [plan, ratesAsSet(rates)]))

const ratesOf = ({ catalog }: Config): readonly (readonly [plan: string, rates: RateLimits])[] =>
  [...catalog.plans.values()].flatMap(({ name, rates }) => (rates === undefined ? [] : [[name, rates] as const]))

export function summaryText(config: Config): string {
  const { ledger, upstreams, models, plans } = summaryOf(config)
  const source = config.file === undefined ? 'No configuration file; the defaults hold' : `${config.file} is in order`
  const served = upstreams.length === 0 ? 'the embedded simulator' : upstreams.join(', ')
  return `${source}: ${models.length} models served by ${served}, plans ${plans.join(', ')}, ledger ${ledger}.`
}
