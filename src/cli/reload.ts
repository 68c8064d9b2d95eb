/** A running process reads its configuration anew, and writes the line of the audit log where nobody has written it before. Rules: operator.md "Reload", "Audit". */

import { type Config, nodeOfSet } from '../config/config.ts'
import { type ConfigProblems, textOfProblem } from '../config/problems.ts'
import type { Gateway } from '../gateway.ts'
import { SIGNAL } from '../ledger/operation.ts'

type Reloading = Pick<Gateway, 'world' | 'reload'>

/** A configuration with mistakes changes nothing and leaves no line, nor does one that is in force already. `lineAt`: the line's time; undefined: it is written elsewhere. */
export function reload(gateway: Reloading, config: Config | ConfigProblems, lineAt: number | undefined): void {
  const { log } = gateway.world
  if ('problems' in config) {
    const { file = '', problems } = config
    log.alarm('the configuration that was running stays in force', { file, problems: problems.map(textOfProblem).join('; ') })
    return
  }
  const { ignored, changes } = gateway.reload(config)
  log.notice('configuration reloaded', ignored.length === 0 ? {} : { needs_restart: ignored.join(', ') })
  if (lineAt !== undefined && changes > 0) void writeLine(gateway, { changes, node: nodeOfSet(config), now: lineAt })
}

/** Behind the reload, which a ledger that takes no writes must not keep from being. */
async function writeLine(
  { world: { ledger, log } }: Reloading,
  line: Readonly<{ changes: number; node: string | null; now: number }>,
): Promise<void> {
  const { result } = await ledger.operate({ kind: 'reload', ...line }, SIGNAL)
  if (result !== 'done') log.notice('the audit log may lack the line of this reload', { changes: line.changes })
}
