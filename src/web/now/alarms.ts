/**
 * Alarms for operators, with what to do: alarms that the log has written since the start, and conditions of this moment. This file has all their words.
 * Rules: pages.md "Alarms of the console".
 */

import type { Alarm } from '../../observe/alarms.ts'
import type { NowDocument, ShownAlarm } from './document.ts'

type Words = Readonly<{ title: string; todo: string; isUrgent?: boolean }>

const BUG = 'The log line of this time names the place in the code. Report it with that line; the other requests are not touched.'

/** The words for each kind of alarm in the log. */
export const LOG_ALARMS: Readonly<Record<string, Words>> = {
  upstream: {
    title: 'An upstream refused our account or our key',
    todo: 'Check the key and the credit of that upstream with its vendor. Until then take it out on the Upstreams page, so that requests go elsewhere.',
    isUrgent: true,
  },
  'an upstream answers with another model': {
    title: 'An upstream answers with another model than was asked for',
    todo: 'Customers pay for the model that they asked for. Correct `upstream_model` of that model, or the upstream’s own table of models. Where both names mean one model, set `echo = "any"` for the upstream; `echo = "fail"` hands no such answer on.',
  },
  ledger: {
    title: 'The ledger met a fault',
    todo: 'Read what it said. If writes fail, look at the disk: free room, permissions, health. Run `tollgate doctor` and `tollgate verify`, and keep a backup before you repair anything.',
    isUrgent: true,
  },
  'a node of the ledger': {
    title: 'A node of the ledger was lost, or its clock is wrong',
    todo: 'Read what it said. Where requests were waived, look why that process was away: killed, paused, or cut off from Postgres. It goes on by itself. Where a clock is off, run a time service on that machine.',
    isUrgent: true,
  },
  'Postgres failed over': {
    title: 'Postgres failed over, or lost what it had committed',
    todo: 'Read what it said, and the audit log’s lines `failover`. What was missing is written again; what could not be is named. Run `tollgate verify`. Where anything was missing, make the standby synchronous: the page on high availability says how.',
    isUrgent: true,
  },
  'nodes differ': {
    title: 'Nodes of the ledger differ',
    todo: 'A request costs or ends otherwise by the node on which it lands. Bring all to the same program and the same tollgate.toml; `tollgate nodes list` says who has what. Each request keeps the prices of its own node.',
  },
  'large bodies': {
    title: 'The thread for large bodies failed',
    todo: 'It is started anew by itself. If it comes back, look at the memory of the machine.',
  },
  'kept answers': {
    title: 'Finished answers are not kept for a restart',
    todo: 'Nothing is charged twice; a repetition after a restart may be told that its answer is gone. See the log line, and look at the disk: free room, permissions, health. A file that was set aside may be removed.',
  },
  'a relay says too much': {
    title: 'A relay says more of this moment than can be read',
    todo: 'Its figures on the pages stand still; requests and money are not touched. Very many keys have something running in it: start more processes, so that each has fewer.',
  },
  history: {
    title: 'The charts may get a gap',
    todo: 'No request and no money depends on it. See the log line, and look at the disk: free room, permissions, health. A file that was set aside may be removed.',
  },
  'an answer could not be kept': { title: 'An answer could not be kept', todo: `${BUG} Its client got it, and it was charged once.` },
  'a page failed by a bug': { title: 'A page failed by a bug', todo: BUG },
  'a route failed by a bug': { title: 'A route failed by a bug', todo: BUG },
  'a request failed by a bug': { title: 'A request failed by a bug', todo: `${BUG} Its hold was released.` },
  'a stream failed by a bug': { title: 'A stream failed by a bug', todo: BUG },
  'an operation failed by a bug': {
    title: 'An operation failed by a bug',
    todo: `${BUG} Look at the audit log whether the operation was done.`,
  },
  'a sign-in failed by a bug': { title: 'A sign-in failed by a bug', todo: BUG },
  'Stripe gives no page to pay on': {
    title: 'Stripe gives no page to pay on',
    todo: 'Customers cannot pay by card. Check the secret key of [payments.stripe] and the account’s state in Stripe’s dashboard.',
  },
  'a payment by Stripe cannot be booked': {
    title: 'A payment by Stripe cannot be booked',
    todo: 'The money is at Stripe and not on the account. See the log line, find the payment in Stripe’s dashboard, and top the account up by hand with its reference.',
    isUrgent: true,
  },
  'an event of Stripe failed by a bug': { title: 'An event of Stripe failed by a bug', todo: `${BUG} Stripe sends the event again.` },
  'a mail was not sent': {
    title: 'A mail was not sent',
    todo: 'Check the server and the sender of [mail]: links and alerts do not reach people. Passwords, passkeys and webhooks are not touched.',
  },
  'Telegram does not know the bot’s token': {
    title: 'Telegram does not know the bot’s token',
    todo: 'The cabinet’s bot answers no one. Put the token that BotFather shows into the variable that [cabinet.telegram] names, and restart.',
  },
  'another program asks for the bot’s updates': {
    title: 'Another program asks for the bot’s updates',
    todo: 'Telegram answers one of them at a time. Stop the other one, or give this gateway a bot of its own.',
  },
  'the bot could not begin': {
    title: 'The bot could not begin',
    todo: 'The cabinet’s bot answers no one. See the log line: the people’s file beside the ledger must be readable and writable.',
  },
  'the bot failed by a bug': { title: 'The bot failed by a bug', todo: `${BUG} It goes on by itself.` },
  'an answer of the bot failed by a bug': {
    title: 'An answer of the bot failed by a bug',
    todo: `${BUG} It is tried again, three times at most.`,
  },
  'alerts could not begin': {
    title: 'Alerts could not begin',
    todo: 'No alerts about balances and limits are sent. See the log line: the people’s file beside the ledger must be readable and writable.',
    isUrgent: true,
  },
  'a look at the alerts failed by a bug': { title: 'A look at the alerts failed by a bug', todo: `${BUG} The next look is soon.` },
  'an alert’s delivery failed by a bug': { title: 'An alert’s delivery failed by a bug', todo: `${BUG} It is tried again.` },
  'an answer could not be remembered': {
    title: 'An answer could not be remembered',
    todo: 'The client got its answer; only `previous_response_id` will not find it. Report the log line.',
  },
  'a request was settled twice': {
    title: 'A request was settled twice',
    todo: 'It was charged once: the second was refused. Run `tollgate verify` and report the request id.',
    isUrgent: true,
  },
  'the configuration that was running stays in force': {
    title: 'A reload was refused',
    todo: 'The file has mistakes, named here and on the Catalog page. Correct them, see there what a reload would change, and reload.',
  },
  'an uncaught exception': {
    title: 'An uncaught exception',
    todo: `${BUG} Restart the gateway when it is quiet.`,
    isUrgent: true,
  },
  'an unhandled rejection': {
    title: 'An unhandled rejection',
    todo: `${BUG} Restart the gateway when it is quiet.`,
    isUrgent: true,
  },
}

const UNKNOWN: Words = { title: 'The log told an alarm', todo: 'Read the log line of this time.' }

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
  noneLeft: { title: 'No upstream is left', todo: 'Requests are answered 503. Put one back, or see why they fail.', isUrgent: true },
  out: { title: 'NAME is out', todo: 'An operator took it out. Put it back on the Upstreams page when it works again.' },
  broken: {
    title: 'NAME takes no calls for some models',
    todo: 'It failed too often and is tried again by itself. If it stays so, look at the vendor’s status, or take it out.',
  },
  waiting: { title: 'Requests wait for NAME', todo: 'Raise its max_concurrent, or add an upstream.' },
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

type Now = Omit<NowDocument, 'alarms'>

/** Conditions of this moment come first, urgent ones before others; then the alarms of the log, the newest first. */
export const alarmsNow = (now: Now, told: readonly Alarm[]): readonly ShownAlarm[] => [
  ...[...ledgerAlarms(now), ...upstreamAlarms(now), ...machineAlarms(now)].sort((a, b) => Number(b.is_urgent) - Number(a.is_urgent)),
  ...told.map((alarm) => toldAlarm(alarm, Date.parse(now.at))),
]

/** An alarm of the log that is older than this is still shown, but as urgent no more: it would hide later ones. */
const URGENT_MS = 3_600_000

function toldAlarm({ what, count, firstAt, lastAt, detail }: Alarm, nowAt: number): ShownAlarm {
  const { title, todo, isUrgent: mayBeUrgent = false } = LOG_ALARMS[what] ?? { ...UNKNOWN, title: what }
  const [first_at, last_at] = [new Date(firstAt).toISOString(), new Date(lastAt).toISOString()]
  const isUrgent = mayBeUrgent && nowAt - lastAt < URGENT_MS
  return { id: what, title, todo, detail, is_urgent: isUrgent, count, first_at, last_at }
}

function ledgerAlarms({ ledger }: Now): readonly ShownAlarm[] {
  const { is_sound, is_writable, spill_bytes, wal_bytes, commit_p99_ms, differences } = ledger
  return [
    ...(is_sound ? [] : [standing('damaged')]),
    ...(is_writable ? [] : [standing('unwritable')]),
    ...(differences.length > 0 ? [standing('differ', differences.join(' · '))] : []),
    ...(spill_bytes > 0 ? [standing('spill', `${spill_bytes} bytes`)] : []),
    ...((wal_bytes ?? 0) > WAL_BYTES_MAX ? [standing('wal', mebibytes(wal_bytes ?? 0))] : []),
    ...((commit_p99_ms ?? 0) > COMMIT_MS_MAX ? [standing('slowCommits', `p99 ${commit_p99_ms} ms`)] : []),
  ]
}

function upstreamAlarms({ upstreams }: Now): readonly ShownAlarm[] {
  const isGone = upstreams.length > 0 && upstreams.every(({ is_out }) => is_out)
  return [
    ...(isGone ? [standing('noneLeft')] : []),
    ...upstreams.flatMap(({ name, is_out, in_flight, waiting, broken }) => [
      ...(is_out ? [standing('out', `${in_flight} calls still run there`, name)] : []),
      ...(!is_out && broken.length > 0 ? [standing('broken', broken.join(', '), name)] : []),
      ...(waiting > 0 ? [standing('waiting', `${waiting} wait`, name)] : []),
    ]),
  ]
}

function machineAlarms({ process, is_draining, is_simulated }: Now): readonly ShownAlarm[] {
  const { disk_free_bytes: free, disk_bytes: disk, descriptors, descriptors_max: most } = process
  const isFull = free !== null && disk !== null && (free < DISK_FREE_MIN.bytes || free < disk * DISK_FREE_MIN.share)
  const isCrowded = descriptors !== null && most !== null && descriptors > most * DESCRIPTORS_SHARE_MAX
  return [
    ...(isFull ? [standing('disk', `${mebibytes(free)} left`)] : []),
    ...(isCrowded ? [standing('descriptors', `${descriptors} of ${most}`)] : []),
    ...(is_draining ? [standing('draining')] : []),
    ...(is_simulated ? [standing('simulator')] : []),
  ]
}

function standing(kind: keyof typeof STANDING, detail = '', name = ''): ShownAlarm {
  const { title, todo, isUrgent = false }: Words = STANDING[kind]
  const id = name === '' ? kind : `${kind} ${name}`
  return { id, title: title.replace('NAME', () => name), todo, detail, is_urgent: isUrgent, count: 1, first_at: null, last_at: null }
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`
