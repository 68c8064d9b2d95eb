/** Which acknowledged writes are lost when the server, or its disk, fails: judged by its settings and the standbys that it shows. Rules: nodes.md "What Postgres promises". */

/** Settings as Postgres spells them. `standbys`: how many follow now. `waitedFor`: how many of them a commit waits for; null: hidden from a role without `pg_monitor`. */
export type PromiseFacts = Readonly<{
  fsync: string
  fullPageWrites: string
  synchronousCommit: string
  standbyNames: string
  standbys: bigint
  waitedFor: bigint | null
}>

/** `warning`: a failover may lose something, or nothing can be written. */
export type ServerPromise = Readonly<{ status: 'ok' | 'warning' | 'problem'; text: string }>

const REWRITTEN = 'nodes that live write again what they acknowledged in the minute before; what only a node knew that dies with it is lost'

export function promiseOf({ fsync, fullPageWrites, synchronousCommit, standbyNames, standbys, waitedFor }: PromiseFacts): ServerPromise {
  const off = [fsync === 'off' ? 'fsync' : '', fullPageWrites === 'off' ? 'full_page_writes' : ''].filter((name) => name !== '')
  if (off.length > 0)
    return { status: 'problem', text: `${off.join(' and ')} off: when the server stops, any part of the ledger may be lost or damaged` }
  if (synchronousCommit === 'off')
    return { status: 'problem', text: 'synchronous_commit off: when the server stops, the last second of commits is lost' }
  const follow = `${standbys} ${standbys === 1n ? 'standby follows' : 'standbys follow'}`
  const waits = standbyNames !== '' && synchronousCommit !== 'local'
  if (waits && standbys === 0n)
    return {
      status: 'warning',
      text: `commits wait for a standby (${standbyNames}) and none is seen: nothing can be written until one follows`,
    }
  if (waits && waitedFor === 0n)
    return {
      status: 'warning',
      text: `commits wait for a standby (${standbyNames}) and none of the ${standbys} that follow is one of those: nothing can be written until one is`,
    }
  if (waits && synchronousCommit === 'remote_write')
    return {
      status: 'ok',
      text: `${follow}, and commits wait until one of ${standbyNames} has received them: a failover to that one loses nothing unless its machine fails in the same moment`,
    }
  if (waits) return { status: 'ok', text: `${follow}, and commits wait for ${standbyNames}: a failover to that one loses nothing` }
  if (standbys > 0n) return { status: 'warning', text: `${follow}, and no commit waits: a failover loses the last moments; ${REWRITTEN}` }
  return {
    status: 'ok',
    text: 'no standby is seen: when the server stops nothing is lost, and with its disk all since the last backup, unless what is below Postgres keeps copies',
  }
}
