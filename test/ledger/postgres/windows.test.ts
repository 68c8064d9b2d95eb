/** Protects money.md "Budgets" and nodes.md "Lanes and leases" on Postgres: three nodes together spend no more of a window than one would, by Postgres' clock, wherever it steps. */

import fc from 'fast-check'
import { differences } from '../../../src/ledger/chain/verify.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import { NOW } from '../../support/ledger.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../../support/postgres-connection.ts'
import { runs } from '../../support/property-runs.ts'
import { PROCESSES, type SharedGround, SharedWalk, sharedStep } from '../../support/shared-windows.ts'
import { openStore } from '../../support/stores.ts'

/** Nodes of a ledger whose clock is set by the test. */
async function nodesOfPostgres(): Promise<SharedGround> {
  const url = await createPostgresLedger()
  const db: Connection = connectPostgres(postgres().asSuperuser(url))
  db.run(`CREATE TABLE public.test_clock (ms BIGINT); INSERT INTO public.test_clock VALUES (${NOW}); GRANT ALL ON public.test_clock TO public;
    CREATE OR REPLACE FUNCTION ledger.clock_ms() RETURNS BIGINT LANGUAGE sql AS 'SELECT ms FROM public.test_clock'`)
  let nowMs = NOW
  let joined = 0
  const open = () => openStore(url, `boot-${++joined}`, NOW, true).store
  const stores = Array.from({ length: PROCESSES }, open)
  return {
    places: stores.map((store) => ({ store, boot: undefined })),
    killed: (index) => {
      const store = stores[index]
      db.run(`UPDATE ledger.nodes SET lease_until = 1 WHERE boot_number = ${store?.boot}`)
      db.query<unknown, []>('SELECT ledger.fence_expired(0)').get()
      store?.close()
      const next = open()
      stores[index] = next
      return { store: next, boot: undefined }
    },
    clock: {
      get nowMs() {
        return nowMs
      },
      set nowMs(ms) {
        nowMs = Math.round(ms)
        db.run(`UPDATE public.test_clock SET ms = ${nowMs}`)
      },
    },
    differences: () => differences(db, () => []),
    close: () => {
      for (const store of stores) store.close()
      db.close()
    },
  }
}

postgresTest(
  'on every walk of three nodes something of each window was left when a request was admitted, and all of it is let in at the end',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sharedStep, { maxLength: 50, size: 'max' }), async (steps) => {
        const walk = new SharedWalk(await nodesOfPostgres())
        for (const step of steps) walk.step(step)
        walk.finish()
      }),
      { numRuns: Math.ceil(runs(80) / 10) },
    )
  },
  120_000,
)
