/** The context of an operator's write: the statements, the actor and the time, and the line in the audit log. Rules: operator.md "Audit". */

import type { Act, Operation } from '../operation.ts'
import type { Statements } from '../sql/statements.ts'

export type Facts = Readonly<Record<string, unknown>>

export class Writing {
  readonly statements: Statements
  readonly act: Act
  /** Unix milliseconds. */
  readonly now: number

  constructor(statements: Statements, act: Act, now: number) {
    this.statements = statements
    this.act = act
    this.now = now
  }

  audit(action: Operation['kind'], target: string, before: Facts, after: Facts): void {
    const change = { before: JSON.stringify(before), after: JSON.stringify(after) }
    const { actor, address, reason } = this.act
    this.statements.insertAudit.run({ now: this.now, actor, address, reason, action, target, ...change })
  }
}
