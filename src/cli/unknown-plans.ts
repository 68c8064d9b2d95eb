/** Finds plans that keys have and the configuration does not define. Rules: operator.md "Commands". */

import type { Config } from '../config/config.ts'
import type { Finding } from './doctor-finding.ts'

export const unknownPlans = (plans: readonly string[], { catalog }: Config): readonly Finding[] =>
  plans
    .filter((plan) => !catalog.plans.has(plan))
    .map((plan) => ({ check: 'plans', status: 'warning', detail: `keys have the plan "${plan}", which allows them nothing` }) as const)
