/** Bounds of the contract that no configuration changes, and the defaults of those that it may change. Rules: contract.md "Limits"; requests.md "Bodies", "JSON bounds". */

/** JSON that is deeper, or has more separators, is refused before it is parsed: parsing it would stall every stream. */
export const JSON_DEPTH_MAX = 128
export const JSON_SEPARATORS_MAX = 1_000_000
export const CACHE_BREAKPOINTS_MAX = 4
export const KEY_EXPIRY_DAYS_MAX = 90
/** The most prepaid codes in one batch, which is one commit and one line to the running gateway. */
export const CODES_MAX = 1_000
/** The most keys that one import brings, which is one commit and one line to the running gateway. */
export const IMPORTED_KEYS_MAX = 20_000
export const CODE_EXPIRY_DAYS_MAX = 3_650
/** The longest server-sent event from an upstream; a longer one is a fault. */
export const EVENT_BYTES_MAX = 8 * 1024 * 1024
/** The longest binary frame: it holds such an event in base64, padded by the door. */
export const BINARY_FRAME_BYTES_MAX = 12 * 1024 * 1024
export const HEARTBEAT_IDLE_MS = 15_000
/** How long a stream's status waits for the upstream's first event. */
export const FIRST_EVENT_WAIT_MS = 1_000

/** Below this size, an eighth of it has no room for a large answer, and the file's own pages would count. */
export const KEPT_ANSWERS_BYTES_MIN = 1024 * 1024

export type Limits = Readonly<{
  bodyBytes: number
  /** The bytes of bodies that one account may send in a minute. */
  bodyBytesPerMinute: number
  startTimeoutMs: number
  totalTimeoutMs: number
  /** How long each upstream that is asked for a stream may take to its first event. */
  firstEventTimeoutMs: number
  stallTimeoutMs: number
  writeStallMs: number
  requestsPerMinute: number
  concurrentRequests: number
  dashboardPerMinute: number
  drainMs: number
  /** How long a keep-alive connection without a request stays open. */
  idleMs: number
  /** The room for finished answers on disk; 0: they are kept in memory only. */
  keptAnswersBytes: number
}>

export const LIMITS: Limits = {
  bodyBytes: 33_554_432,
  bodyBytesPerMinute: 1_073_741_824,
  startTimeoutMs: 360_000,
  totalTimeoutMs: 600_000,
  firstEventTimeoutMs: 120_000,
  stallTimeoutMs: 300_000,
  writeStallMs: 60_000,
  requestsPerMinute: 600,
  concurrentRequests: 200,
  dashboardPerMinute: 120,
  drainMs: 600_000,
  idleMs: 75_000,
  keptAnswersBytes: 1_073_741_824,
}
