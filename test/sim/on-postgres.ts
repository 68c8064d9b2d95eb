/** Worlds on Postgres: each on a database of its own. */

import { createPostgresLedger } from '../support/postgres-connection.ts'
import { PostgresGround } from './postgres-ground.ts'
import type { GroundFor } from './simulate.ts'

export const ON_POSTGRES: GroundFor = async () => {
  const url = await createPostgresLedger()
  return (folder, around) => new PostgresGround(folder, url, around)
}
