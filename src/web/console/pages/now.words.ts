/** The words of the page "Now", and its figures as one paragraph for people who cannot see them. */

import type { NowDocument, ShownAlarm } from '../../now/document.ts'
import { counted, showCount, showDuration } from '../../parts/show-time.ts'
import { showUsd } from '../../parts/show-usd.ts'

export const UNKNOWN = '–'

export const STATE_TEXTS: Readonly<Record<'connecting' | 'live' | 'lost' | 'paused', (retryS: number) => string>> = {
  connecting: () => 'Connecting…',
  live: () => 'Live',
  lost: (retryS) => `Connection lost, again in ${retryS} s`,
  paused: () => 'Paused',
}

/** Of what moved to another upstream. */
export const lostText = (thinking = 0): string =>
  thinking === 0 ? 'since this start' : `and the thinking of ${counted(thinking, 'request')}, since this start`

export const showMs = (ms: number | null | undefined): string => (ms === null || ms === undefined ? UNKNOWN : showDuration(ms))
export const showMoney = (exact: string | null | undefined): string => (exact === null || exact === undefined ? UNKNOWN : showUsd(exact))

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
/** 1536 → "1.5 KiB". */
export function showBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return UNKNOWN
  const step = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** step
  return `${size < 10 && step > 0 ? size.toFixed(1) : Math.round(size)} ${BYTE_UNITS[step]}`
}

/** 93784 → "1 d 2 h". */
export function showUptime(seconds: number): string {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60]
  if (days > 0) return `${days} d ${hours} h`
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min` : `${seconds} s`
}

/** `refusals` as "3 rateLimited, 1 keyInvalid". */
export const refusalsText = ({ refusals }: NowDocument['requests']): string =>
  refusals.length === 0 ? 'none' : refusals.map(({ name, count }) => `${showCount(count)} ${wordsOf(name)}`).join(', ')

/** "rateLimited" → "rate limited". */
export const wordsOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

function inWords(now: NowDocument): string {
  const { requests, first_byte, today, upstreams, alarms, ledger } = now
  const down = upstreams.filter(({ out, breaker }) => out !== null || breaker !== 'closed').map(({ name }) => name)
  return [
    `${counted(requests.in_flight, 'request')} in flight, ${counted(requests.streams, 'stream')}.`,
    `In the last minute ${counted(requests.ended, 'request')} ended, ${showCount(requests.refused)} of them refused: ${refusalsText(requests)}.`,
    first_byte.p50_ms === null
      ? ''
      : `First byte after ${showMs(first_byte.p50_ms)}, the slowest hundredth after ${showMs(first_byte.p99_ms)}.`,
    down.length === 0 ? 'All upstreams take calls.' : `These upstreams do not take all calls: ${down.join(', ')}.`,
    `Charged today ${showMoney(today.charged_usd)}, waived ${showMoney(today.waived_usd)}.`,
    ledger.is_writable ? '' : 'The ledger cannot be written.',
    alarms.length === 0 ? 'No alarms.' : `${counted(alarms.length, 'alarm')}: ${alarms.map(({ title }) => title).join('; ')}.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ')
}

/** An alarm as a sentence without what to do: "north is out since 28 Nov, 05:11, taken out by ann@example.com: maintenance". `momentOf`: makes the text of a moment. */
export const incidentWords = (alarm: ShownAlarm, momentOf: MomentOf): string => alarm.title + whenAndWhy(alarm, momentOf)

type MomentOf = (iso: string) => string

/** What follows the title of an alarm in its sentence. */
export function whenAndWhy({ detail, count, first_at, may_be_older, last_at }: ShownAlarm, momentOf: MomentOf): string {
  const times = count === 1 ? 'once' : `${showCount(count)} times since ${momentOf(first_at)}`
  const when =
    last_at === null
      ? `${may_be_older ? ', seen since' : ' since'} ${momentOf(first_at)}`
      : `, ${times}, ${count === 1 ? '' : 'last '}${momentOf(last_at)}`
  return `${when}${detail === '' ? '' : `${last_at === null ? ', ' : ': '}${detail}`}`
}

/** What is wrong and what to do about it, each alarm with since when, then the figures: for a chat or a ticket. */
export const incidentsText = (now: NowDocument): string =>
  [
    `Tollgate ${now.version}, ${now.at}`,
    ...now.alarms.map((alarm) => `- ${incidentWords(alarm, (iso) => iso)}. ${alarm.todo}`),
    inWords(now),
  ].join('\n')

/** What a mark of the history stands for. */
export const MARK_TEXTS: Readonly<Record<'began' | 'lost' | 'setUpstreamOut' | 'failover' | 'reload', (what: string) => string>> = {
  began: () => 'a process started',
  lost: () => 'a process ended unexpectedly: its last seconds may be missing',
  setUpstreamOut: (what) => `upstream ${what}`,
  reload: (node) => (node === '' ? 'configuration reloaded' : `configuration of ${node} reloaded`),
  failover: () => 'Postgres failed over',
}

/** 150 after 100 → "50 % more than in the same time before". */
export function againstBefore(now: number, before: number): string {
  const percent = before === 0 ? 0 : Math.round((now / before - 1) * 100)
  if (before === 0 && now > 0) return 'and nothing in the same time before'
  if (percent === 0) return 'as much as in the same time before'
  return `${showCount(Math.abs(percent))} % ${percent > 0 ? 'more' : 'less'} than in the same time before`
}

/** 150 after 100 → "+50 %". */
export function changeText(now: number, before: number): string {
  if (before === 0) return now === 0 ? '±0 %' : 'new'
  const percent = Math.round((now / before - 1) * 100)
  return percent === 0 ? '±0 %' : `${percent > 0 ? '+' : '−'}${showCount(Math.abs(percent))} %`
}
