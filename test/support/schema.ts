/** All tables of the ledger as drizzle is told of them. */

import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as accounts from '../../db/schema/accounts.ts'
import * as audit from '../../db/schema/audit-log.ts'
import * as boots from '../../db/schema/boots.ts'
import * as credits from '../../db/schema/credits.ts'
import * as api from '../../db/schema/operator-api.ts'
import * as prices from '../../db/schema/prices.ts'
import * as requests from '../../db/schema/requests.ts'
import * as rollUps from '../../db/schema/roll-ups.ts'
import * as windows from '../../db/schema/windows.ts'

export const TABLES: readonly SQLiteTable[] = [boots, accounts, prices, requests, rollUps, credits, audit, api, windows]
  .flatMap((file): readonly unknown[] => Object.values(file))
  .filter((value) => value instanceof SQLiteTable)
