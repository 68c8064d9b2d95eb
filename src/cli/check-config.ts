/**
 * `tollgate check-config`: every mistake of the configuration, secrets included; or a summary, with the settings that have no effect and those that are weak.
 * Rules: operator.md "Configuration", "What is weak", "Commands".
 */

import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { textOfLedger } from '../config/make-ledger.ts'
import { textOfProblem } from '../config/problems.ts'
import { type RateLimits, ratesAsSet, rateText } from '../core/token-buckets.ts'
import { configOption, printer, withJson } from './command-context.ts'
import { type CliEnvironment, EXIT, type ExitCode } from './environment.ts'
import { setUpOf, weaknessesOf } from './set-up.ts'

export function addCheckConfig(program: Command, environment: CliEnvironment, setExitCode: (code: ExitCode) => void): void {
  const check = withJson(program.command('check-config')).description('find every mistake in the configuration; 1 when there is one')
  check.action(() => setExitCode(checkConfig(check, environment)))
}

function checkConfig(command: Command, environment: CliEnvironment): ExitCode {
  const say = printer(environment, command)
  const config = loadConfig({ file: configOption(command), folder: environment.folder, env: environment.env })
  if ('problems' in config) {
    const { file = null, problems } = config
    say({ ok: false, file, problems }, () =>
      [`${file} has mistakes:`, ...problems.map((problem) => `  ${textOfProblem(problem)}`)].join('\n'),
    )
    return EXIT.finding
  }
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
