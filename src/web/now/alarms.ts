/** Alarms for operators, with what to do: conditions of this moment, and what the log has told since the start, whose words are here. Rules: pages.md "Alarms of the console". */

import type { Alarm } from '../../observe/alarms.ts'
import type { ShownAlarm } from './document.ts'
import { type FirstSeen, type Now, standingNow, UPSTREAMS, type Words } from './standing.ts'

const BUG = 'The log line of this time names the place in the code. Report it with that line; the other requests are not touched.'

/** The words for each kind of alarm in the log. */
export const LOG_ALARMS: Readonly<Record<string, Words>> = {
  upstream: {
    title: 'An upstream refused our account or our key',
    todo: 'Check the key and the credit of that upstream with its vendor. Until then take it out on the Upstreams page, so that requests go elsewhere.',
    page: UPSTREAMS,
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
    page: { name: 'Catalog', path: '/console/catalog' },
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

/** Conditions of this moment come first, urgent ones before others; then the alarms of the log, the newest first. */
export const alarmsNow = (now: Now, told: readonly Alarm[], seen: FirstSeen): readonly ShownAlarm[] => [
  ...standingNow(now, seen).toSorted((a, b) => Number(b.is_urgent) - Number(a.is_urgent)),
  ...told.map((alarm) => toldAlarm(alarm, Date.parse(now.at))),
]

/** An alarm of the log that is older than this is still shown, but as urgent no more: it would hide later ones. */
const URGENT_MS = 3_600_000

function toldAlarm({ what, count, firstAt, lastAt, detail }: Alarm, nowAt: number): ShownAlarm {
  const { title, todo, page, isUrgent: mayBeUrgent = false }: Words = LOG_ALARMS[what] ?? { ...UNKNOWN, title: what }
  const [first_at, last_at] = [new Date(firstAt).toISOString(), new Date(lastAt).toISOString()]
  const isUrgent = mayBeUrgent && nowAt - lastAt < URGENT_MS
  return { id: what, title, todo, detail, page: page ?? null, is_urgent: isUrgent, count, first_at, may_be_older: false, last_at }
}
