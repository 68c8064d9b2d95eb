/** The tables of the people's file that are copied to Postgres with the ledger, ordered so that each row finds what it names. Rules: ledger.md "Copy"; pages.md "People". */

/** `numbered`: the column that Postgres counts by itself. */
type PeopleTable = Readonly<{ schema: 'people'; name: string; numbered?: string }>

const NAMES = [
  'person',
  'session',
  'credential',
  'verification',
  'passkey',
  'memberships',
  'operators',
  'invitations',
  'links',
  'secrets',
  'alerts',
  'alert_marks',
  'webhooks',
  'alert_events',
]

export const PEOPLE_TABLES: readonly PeopleTable[] = [
  ...NAMES.map((name) => ({ schema: 'people', name }) as const),
  { schema: 'people', name: 'deliveries', numbered: 'number' },
]
