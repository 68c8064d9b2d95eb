/** The gateway at this moment, as the feed sends it and the page "Now" reads it. Rules: pages.md "Now". */

/** Money is exact decimal text. Counts are of the last minute unless the name says otherwise. null: not known, or not known yet. */
export type NowDocument = Readonly<{
  at: string
  version: string
  uptime_s: number
  is_draining: boolean
  is_simulated: boolean
  requests: Readonly<{
    in_flight: number
    streams: number
    ended: number
    last_second: number
    refused: number
    refusals: readonly NamedCount[]
  }>
  first_byte: Readonly<{ answers: number; p50_ms: number | null; p99_ms: number | null }>
  calls: Readonly<{ answered: number; failed: number; retried: number }>
  upstreams: readonly UpstreamNow[]
  ledger: Readonly<{
    is_writable: boolean
    is_sound: boolean
    commit_p50_ms: number | null
    commit_p99_ms: number | null
    group_size: number
    spill_bytes: number
    wal_bytes: number | null
    holds: number
    held_usd: string
    /** Which acknowledged writes the ledger's server may lose, in words; '': the ledger is a file, or this is not known yet. */
    promise: string
    /** The settings in which the nodes that share the ledger differ, each with the nodes of each value. */
    differences: readonly string[]
  }>
  /** Figures of the UTC day. `cache_lost_usd`, and `thinking_lost` in requests: since the start of this process. */
  today: Readonly<{
    requests: number | null
    charged_usd: string | null
    waived_usd: string | null
    estimated_usd: string | null
    cache_lost_usd: string
    thinking_lost: number
  }>
  process: Readonly<{
    memory_bytes: number
    descriptors: number | null
    descriptors_max: number | null
    disk_free_bytes: number | null
    disk_bytes: number | null
  }>
  alarms: readonly ShownAlarm[]
}>

type NamedCount = Readonly<{ name: string; count: number }>

/** `breaker`: the worst state among the upstream's models. */
export type UpstreamNow = Readonly<{
  name: string
  /** Null where it was not taken out. */
  out: Readonly<{ since: string; by: string; reason: string }> | null
  in_flight: number
  waiting: number
  breaker: 'closed' | 'half-open' | 'open'
  /** Models whose breaker is not closed. */
  broken: readonly string[]
  /** Null where none of its calls has failed. */
  last_failure: Readonly<{ cause: string; model: string; at: string }> | null
  /** The time to the first event with its slowest model of late; null where it is unknown. */
  first_event_ms: number | null
  /** Models that get less than the upstream's weight, because they have become slow there. */
  slow: readonly string[]
}>

/**
 * `first_at`: since when; `may_be_older`: nobody looked before. `last_at`: null for a condition of this moment, which stands. `detail`: why, by whom, figures, or the last line
 * of the log. `page`: where it is done.
 */
export type ShownAlarm = Readonly<{
  id: string
  title: string
  todo: string
  detail: string
  page: Readonly<{ name: string; path: string }> | null
  is_urgent: boolean
  count: number
  first_at: string
  may_be_older: boolean
  last_at: string | null
}>
