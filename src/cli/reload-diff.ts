/** `tollgate check-config --diff`: what a reload of the running gateway would change, as that gateway itself reads its file. Rules: operator.md "Reload", "Socket". */

import { textOfProblem } from '../config/problems.ts'
import type { ReloadPreview, SettingChange, ThingChange } from '../config/reload-preview.ts'
import { previewThroughSocket } from '../operator/ask-gateways.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT, type ExitCode, noLedger, type Stop } from './environment.ts'

export async function reloadDiff({ config, say }: Pick<CommandContext, 'config' | 'say'>): Promise<ExitCode | Stop> {
  const preview = await previewThroughSocket(config.ledger)
  if (preview === 'absent') return noLedger('no gateway runs on this ledger here, and only a running one knows what is in force')
  if (preview === 'silent') return noLedger('the gateway did not say what a reload would change')
  const { digest: _ofPages, ...document } = preview
  say(document, () => textOf(preview))
  return preview.problems.length > 0 ? EXIT.finding : EXIT.ok
}

function textOf({ file, problems, things, needs_restart, without_effect }: ReloadPreview): string {
  const named = file ?? 'the configuration'
  if (problems.length > 0)
    return [`${named} has mistakes, and a reload would change nothing:`, ...problems.map((one) => `  ${textOfProblem(one)}`)].join('\n')
  return [
    things.length === 0 ? `A reload would change nothing: what ${named} says is in force.` : `A reload of ${named} would change:`,
    ...things.flatMap(linesOf),
    ...(needs_restart.length === 0 ? [] : [`  only a restart changes: ${needs_restart.join(', ')}`]),
    ...without_effect.map((one) => `  without effect: ${textOfProblem(one)}`),
  ].join('\n')
}

const linesOf = (thing: ThingChange): readonly string[] => [
  `  ${thing.kind}${thing.name === '' ? '' : ` ${thing.name}`}: ${thing.state}`,
  ...(thing.state === 'removed' ? [] : thing.changes.map((change) => `    ${change.setting}: ${valuesOf(change, thing.state)}`)),
]

function valuesOf({ before, after, unit, percent }: SettingChange, state: ThingChange['state']): string {
  const shown = (value: string | null): string => (value === null ? 'none' : unit === null ? value : `$${value}`)
  const both = state === 'added' ? shown(after) : `${shown(before)} -> ${shown(after)}`
  const per = unit === 'usd_a_million_tokens' ? ' a million tokens' : unit === 'usd_a_use' ? ' a use' : ''
  return `${both}${per}${percent === null ? '' : ` (${percent > 0 ? '+' : ''}${percent} %)`}`
}
