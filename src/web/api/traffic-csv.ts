/** Refusals and first bytes by what was asked, as a file with all steps. Rules: pages.md "Explore". */

import { csvLine } from '../../core/csv.ts'
import { stepText } from '../../core/explore.ts'
import type { TrafficAsked, TrafficRow } from '../../core/history/traffic.ts'
import { csvFile, type FileOptions } from './csv-file.ts'

const FIGURES = ['requests', 'refused', 'first_byte_p50_ms', 'first_byte_p95_ms', 'first_byte_p99_ms']

/** A row for each step and its things, in the order of time. `texts`: JSON of rows, one text for a turn of the loop. */
export const trafficCsv = (
  texts: readonly string[],
  asked: Pick<TrafficAsked, 'by' | 'step'>,
  file: FileOptions,
): ReadableStream<Uint8Array> => csvFile(linesOf(texts, asked), file)

function* linesOf(texts: readonly string[], { by, step }: Pick<TrafficAsked, 'by' | 'step'>): Generator<string, void> {
  yield csvLine(['from', ...by, ...(by.includes('reason') ? ['refused'] : FIGURES)])
  const lineOf = ({ hour, ids, requests, refused, p50_ms, p95_ms, p99_ms }: TrafficRow): string =>
    csvLine([stepText(hour, step), ...ids, ...(requests === null ? [refused] : [requests, refused, p50_ms, p95_ms, p99_ms])])
  for (const text of texts) yield (JSON.parse(text) as TrafficRow[]).map(lineOf).join('')
}
