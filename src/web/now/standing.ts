/**
 * What is wrong at this moment, found anew with each look: since when, why, and what to do. Where nothing says since when it is so, it is since the first of the looks that
 * have followed each other. Rules: pages.md "Alarms of the console".
 */

import type { NowDocument, ShownAlarm, UpstreamNow } from './document.ts'

export type Now = Omit<NowDocument, 'alarms'>
/** `page`: where it is done. */
export type Words = Readonly<{ title: string; todo: string; page?: NonNullable<ShownAlarm['page']>; isUrgent?: boolean }>

export const UPSTREAMS = { name: 'Upstreams', path: '/console/upstreams' }

/** The words for conditions of this moment. `NAME` stands for the upstream's name. */
const STANDING = {
  damaged: {
    title: 'The ledger is damaged',
    todo: 'Stop the gateway, keep the file as it is, and bring back the last backup; `tollgate verify` says what is lost.',
    isUrgent: true,
  },
  unwritable: {
    title: 'The ledger cannot be written',
    todo: 'New requests are refused. Look at the disk: free room, permissions, health. It goes on by itself as soon as a write succeeds.',
    isUrgent: true,
  },
  differ: {
    title: 'Nodes of the ledger differ now',
    todo: 'That is normal while a change is rolled out. If it stays so, bring all to the same program and the same tollgate.toml.',
  },
  spill: {
    title: 'Charges wait in the spill file',
    todo: 'They are written to the ledger as soon as it can be written; do not delete the file beside it.',
  },
  wal: {
    title: 'The write-ahead log is large',
    todo: 'Something reads the ledger for a long time: a backup, a report, another process. Find it and let it end.',
  },
  slowCommits: { title: 'Commits are slow', todo: 'Every answer waits for its commit. Look what else writes to this disk.' },
  noneLeft: {
    title: 'No upstream is left',
    todo: 'Requests are answered 503. Put one back, or see why they fail.',
    page: UPSTREAMS,
    isUrgent: true,
  },
  out: { title: 'NAME is out', todo: 'Put it back on the Upstreams page when it works again.', page: UPSTREAMS },
  broken: {
    title: 'NAME takes no calls for some models',
    todo: 'It failed too often and is tried again by itself. If it stays so, look at the vendor’s status, or take it out.',
    page: UPSTREAMS,
  },
  waiting: { title: 'Requests wait for NAME', todo: 'Raise its max_concurrent, or add an upstream.', page: UPSTREAMS },
  disk: {
    title: 'The disk is nearly full',
    todo: 'Make room beside the ledger: when nothing is left, requests are refused.',
    isUrgent: true,
  },
  descriptors: {
    title: 'Descriptors run out',
    todo: 'Each connection is one. Raise the limit (`ulimit -n`, LimitNOFILE) and restart, or see who holds so many.',
    isUrgent: true,
  },
  draining: { title: 'The gateway shuts down', todo: 'It takes no new requests; streams end within the drain.' },
  simulator: {
    title: 'The simulator answers',
    todo: 'No upstream is configured: nothing leaves this machine. Name [[upstreams]] in tollgate.toml for real answers.',
  },
} satisfies Record<string, Words>

const WAL_BYTES_MAX = 256 * 1024 * 1024
const DISK_FREE_MIN = { bytes: 512 * 1024 * 1024, share: 0.03 }
const DESCRIPTORS_SHARE_MAX = 0.8
const COMMIT_MS_MAX = 500

type Standing = Omit<ShownAlarm, 'first_at' | 'may_be_older'> & Readonly<{ since: string | undefined }>

export const standingNow = (now: Now, seen: FirstSeen): readonly ShownAlarm[] => {
  const found = [...ledgerAlarms(now), ...upstreamAlarms(now), ...machineAlarms(now)]
  const firstAt = seen.look(
    found.map(({ id }) => id),
    Date.parse(now.at),
  )
  return found.map(({ since, ...alarm }) => ({
    ...alarm,
    first_at: since ?? new Date(firstAt.get(alarm.id) ?? Date.parse(now.at)).toISOString(),
    may_be_older: since === undefined,
  }))
}

/** Looks that are further apart do not know what was between them. */
const LOOKS_APART_MS_MAX = 10_000

/** Since when the conditions of the last look have been seen in each look. Times are Unix milliseconds. */
export class FirstSeen {
  #seen: ReadonlyMap<string, number> = new Map()
  #lookedAt = 0

  look(ids: readonly string[], now: number): ReadonlyMap<string, number> {
    const before = now - this.#lookedAt > LOOKS_APART_MS_MAX ? new Map<string, number>() : this.#seen
    this.#seen = new Map(ids.map((id) => [id, before.get(id) ?? now]))
    this.#lookedAt = now
    return this.#seen
  }
}

function ledgerAlarms({ ledger }: Now): readonly Standing[] {
  const { is_sound, is_writable, spill_bytes, wal_bytes, commit_p99_ms, differences } = ledger
  return [
    ...(is_sound ? [] : [standing('damaged')]),
    ...(is_writable ? [] : [standing('unwritable')]),
    ...(differences.length > 0 ? [standing('differ', { detail: differences.join(' · ') })] : []),
    ...(spill_bytes > 0 ? [standing('spill', { detail: `${spill_bytes} bytes` })] : []),
    ...((wal_bytes ?? 0) > WAL_BYTES_MAX ? [standing('wal', { detail: mebibytes(wal_bytes ?? 0) })] : []),
    ...((commit_p99_ms ?? 0) > COMMIT_MS_MAX ? [standing('slowCommits', { detail: `p99 ${commit_p99_ms} ms` })] : []),
  ]
}

function upstreamAlarms({ upstreams }: Now): readonly Standing[] {
  const outs = upstreams.flatMap(({ out }) => (out === null ? [] : [out.since]))
  const isGone = upstreams.length > 0 && outs.length === upstreams.length
  return [
    ...(isGone ? [standing('noneLeft', { since: outs.toSorted().at(-1) })] : []),
    ...upstreams.flatMap(({ name, out, in_flight, waiting, broken, last_failure }) => [
      ...(out === null ? [] : [standing('out', { detail: `${outText(out)}; ${callsText(in_flight)} there`, name, since: out.since })]),
      ...(out === null && broken.length > 0 ? [standing('broken', { detail: brokenText(broken, last_failure), name })] : []),
      ...(waiting > 0 ? [standing('waiting', { detail: `${waiting} wait`, name })] : []),
    ]),
  ]
}

const outText = ({ by, reason }: Readonly<{ by: string; reason: string }>): string =>
  `taken out by ${by.replace(/^person:/, '')}${reason === '' ? '' : `: ${reason}`}`
const callsText = (count: number): string => (count === 1 ? 'one call still runs' : `${count} calls still run`)
const brokenText = (models: readonly string[], failed: UpstreamNow['last_failure']): string =>
  models.join(', ') + (failed === null ? '' : `; last failure: ${failed.cause}, ${failed.model}`)

function machineAlarms({ at, uptime_s, process, is_draining, is_simulated }: Now): readonly Standing[] {
  const { disk_free_bytes: free, disk_bytes: disk, descriptors, descriptors_max: most } = process
  const isFull = free !== null && disk !== null && (free < DISK_FREE_MIN.bytes || free < disk * DISK_FREE_MIN.share)
  const isCrowded = descriptors !== null && most !== null && descriptors > most * DESCRIPTORS_SHARE_MAX
  const began = new Date(Date.parse(at) - uptime_s * 1_000).toISOString()
  return [
    ...(isFull ? [standing('disk', { detail: `${mebibytes(free)} left` })] : []),
    ...(isCrowded ? [standing('descriptors', { detail: `${descriptors} of ${most}` })] : []),
    ...(is_draining ? [standing('draining')] : []),
    ...(is_simulated ? [standing('simulator', { since: began })] : []),
  ]
}

function standing(
  kind: keyof typeof STANDING,
  { detail = '', name = '', since }: Readonly<{ detail?: string; name?: string; since?: string | undefined }> = {},
): Standing {
  const { title, todo, page, isUrgent = false }: Words = STANDING[kind]
  const id = name === '' ? kind : `${kind} ${name}`
  return {
    id,
    title: title.replace('NAME', () => name),
    todo,
    detail,
    page: page ?? null,
    is_urgent: isUrgent,
    count: 1,
    since,
    last_at: null,
  }
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`
