/** A running process reads its configuration anew, and writes the line of the audit log where nobody has written it before. Rules: operator.md "Reload", "Audit". */

import { type Config, nodeOfSet } from '../config/config.ts'
import { type ConfigProblems, textOfProblem } from '../config/problems.ts'
import type { Gateway } from '../gateway.ts'
import { SIGNAL } from '../ledger/operation.ts'
import type { ReloadOrder } from './process-commands.ts'

type Reloading = Pick<Gateway, 'world' | 'reload'>

/** A configuration with mistakes changes nothing and leaves no line, nor does one that is in force already. */
export function reload(gateway: Reloading, config: Config | ConfigProblems, order: ReloadOrder): void {
  const { log } = gateway.world
  if ('problems' in config) {
    const { file = '', problems } = config
    log.alarm('the configuration that was running stays in force', { file, problems: problems.map(textOfProblem).join('; ') })
    return
  }
  const { ignored, changes } = gateway.reload(config)
  log.notice('configuration reloaded', ignored.length === 0 ? {} : { needs_restart: ignored.join(', ') })
  if (order === 'reloadWithLine' && changes > 0) void writeLine(gateway, changes, nodeOfSet(config))
}

/** Behind the reload, which a ledger that takes no writes must not keep from being. */
async function writeLine({ world: { ledger, clock, log } }: Reloading, changes: number, node: string | null): Promise<void> {
  const { result } = await ledger.operate({ kind: 'reload', changes, node, now: clock.now() }, SIGNAL)
  if (result !== 'done') log.notice('the audit log may lack the line of this reload', { changes })
}
