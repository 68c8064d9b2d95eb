/** `tollgate doctor` on Postgres: the server's settings and clock, its connections, the nodes, and what `verify` finds. Rules: operator.md "Commands". */

import { SERVER_VERSIONS } from '../../db/postgres/server-versions.ts'
import type { Config } from '../config/config.ts'
import { differenceText } from '../core/node-facts.ts'
import { openForReading, readProblem } from '../ledger/open-for-reading.ts'
import { type PostgresPlace, placeText } from '../ledger/place.ts'
import { differencesOf } from '../ledger/postgres/nodes-report.ts'
import { isRoomy, type Room, roomFor, textOfRoom } from '../ledger/postgres/room.ts'
import { type ServerFacts, serverFacts } from '../ledger/postgres/server-facts.ts'
import { Report } from '../ledger/report.ts'
import { type Finding, ledgerFinding, unopenedFinding } from './doctor-finding.ts'
import type { CliEnvironment } from './environment.ts'
import { STATEMENT_MS } from './read-report.ts'
import { unknownPlans } from './unknown-plans.ts'

/** How far the server's clock may be from ours: receipts have the times of the nodes' clocks. */
const CLOCK_WARNING_MS = 1_000

export function postgresFindings(config: Config, place: PostgresPlace, { startSyncDriver, now }: CliEnvironment): readonly Finding[] {
  const db = openForReading({ ...place, startSyncDriver, statementMs: STATEMENT_MS })
  if ('problem' in db) return [unopenedFinding(db)]
  try {
    const report = new Report(db, place)
    const before = now()
    const facts = serverFacts(db)
    const tookMs = now() - before
    return [
      ledgerFinding(placeText(place), report.verify().length),
      serverFinding(facts),
      { check: 'postgres standbys', status: facts.promise.status, detail: facts.promise.text },
      clock(facts, before + tookMs / 2, tookMs),
      nodes(facts),
      ...differing(report),
      connections(roomFor(db, place.connections)),
      ...unknownPlans(report.accounts.plans(), config),
    ]
  } catch (error) {
    return [{ check: 'ledger', status: 'problem', detail: readProblem(error, place).message }]
  } finally {
    db.close()
  }
}

export function serverFinding({ version, settings }: Pick<ServerFacts, 'version' | 'settings'>): Finding {
  const off = Object.entries(settings).filter(([, value]) => value === 'off')
  const texts = Object.entries(settings).map(([name, value]) => `${name} ${value}`)
  const detail = `Postgres ${version}, ${texts.join(', ')}`
  if (off.length > 0) {
    return { check: 'postgres', status: 'problem', detail: `${detail}: what is charged could be lost when the server stops` }
  }
  const isTried = Number.parseInt(version, 10) <= SERVER_VERSIONS.max
  return isTried
    ? { check: 'postgres', status: 'ok', detail }
    : {
        check: 'postgres',
        status: 'warning',
        detail: `${detail}: this program was tried on ${SERVER_VERSIONS.min} to ${SERVER_VERSIONS.max}`,
      }
}

/** `at`: the time by our clock at which the server was asked. */
function clock({ now }: ServerFacts, at: number, tookMs: number): Finding {
  const apartMs = Math.round(Math.abs(now - at))
  const detail = `${apartMs} ms apart from this machine's clock, within ${Math.ceil(tookMs)} ms`
  if (apartMs > CLOCK_WARNING_MS + tookMs) return { check: 'postgres clock', status: 'warning', detail: `${detail}: set both by NTP` }
  return { check: 'postgres clock', status: 'ok', detail }
}

function connections(room: Room): Finding {
  const detail = textOfRoom(room)
  if (isRoomy(room)) return { check: 'postgres connections', status: 'ok', detail }
  return { check: 'postgres connections', status: 'warning', detail: `${detail}: raise max_connections, or run fewer processes` }
}

function differing(report: Report): readonly Finding[] {
  const texts = differencesOf(report.nodes()).map(differenceText)
  if (texts.length === 0) return []
  const detail = `they differ, which is normal only while a change is rolled out: ${texts.join(' · ')}`
  return [{ check: 'nodes alike', status: 'warning', detail }]
}

function nodes({ nodes: all }: ServerFacts): Finding {
  const live = all.filter(({ isLive }) => isLive)
  const lost = all.filter(({ isLive }) => !isLive)
  const textOf = ({ lane, name }: (typeof all)[number]): string => `${name} (lane ${lane})`
  if (lost.length > 0)
    return { check: 'nodes', status: 'warning', detail: `not heard of, and no node took over yet: ${lost.map(textOf).join(', ')}` }
  return { check: 'nodes', status: 'ok', detail: live.length === 0 ? 'none is running on this ledger' : live.map(textOf).join(', ') }
}
