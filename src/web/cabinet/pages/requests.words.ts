/** The words of the page of requests. */

export const WORDS = {
  title: 'Requests',
  lede: 'Newest first. A request stands here once it is booked, which is when its answer has ended.',
  csv: 'Download CSV',
  none: 'No requests yet.',
  noneLede: 'Paste a line of one of your keys into a terminal: it appears here as soon as it is answered.',
  noneFound: 'No request is like this.',
  noneFoundLede: 'Take a filter away, or choose another time.',
  lookFurther: 'Look further',
  searchHint: 'As in the answer’s x-request-id',
  calls: 'Other calls of a provider, which cost you nothing',
} as const

/** `to`: a date. */
export const shortPageWords = (to: string | undefined): string =>
  to === undefined ? 'Nothing found so far; there are older requests.' : `Looked back to ${to} and found none; there are older requests.`

const OUTCOMES = {
  complete: 'Complete',
  leaver: 'Client left',
  deadline: 'Time limit',
  cut: 'Key disabled',
  fault: 'Provider failed',
  drain: 'Gateway stopped',
  recovered: 'Gateway failed',
} as const
export const OUTCOME_OPTIONS = Object.entries(OUTCOMES).map(([value, text]) => ({ value, text }))
