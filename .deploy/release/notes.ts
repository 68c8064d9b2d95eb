/** The notes of a release: how it is installed and checked, and what its commits hold, by area. */

import { archiveOf, BILL, SUMS, TARGETS } from './targets.ts'

export type History = Readonly<{
  /** The tag before this one; none before the first. */ since: string | undefined /** Oldest first. */
  subjects: readonly string[]
}>

type About = Readonly<{ /** `OWNER/NAME`. */ repository: string; version: string; commit: string }>

export function notesOf({ repository, version, commit }: About, history: History): string {
  const from = `https://github.com/${repository}/releases/download/v${version}`
  const archives = TARGETS.map((target) => `| ${target.name} | [${archiveOf(target)}](${from}/${archiveOf(target)}) |`)
  return `${[
    `Tollgate ${version}, commit ${commit}. [Install](https://github.com/${repository}/blob/v${version}/src/docs/operate/install.md) says how it is installed, checked, upgraded and taken back.`,
    '',
    '| for | |',
    '|---|---|',
    ...archives,
    `| image | \`ghcr.io/${repository.toLowerCase()}:${version}\` |`,
    `| sums, bill of materials | [${SUMS}](${from}/${SUMS}), [${BILL}](${from}/${BILL}) |`,
    '',
    ...changes(history),
  ].join('\n')}\n`
}

function changes({ since, subjects }: History): readonly string[] {
  if (since === undefined) return ['The first release.']
  const areas = Map.groupBy(subjects, (subject) => /^([\w ,./-]+): /.exec(subject)?.[1] ?? 'other')
  const parts = [...areas]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([area, those]) => [`### ${area}`, '', ...those.map((subject) => line(area, subject)), ''])
  return [`## Since ${since}`, '', ...parts]
}

/** Nothing of a subject is markup. */
const line = (area: string, subject: string): string =>
  `- ${(subject.startsWith(`${area}: `) ? subject.slice(area.length + 2) : subject).replaceAll(/[\\`*_<>[\]#@]/g, '\\$&')}`
