/** How a request ended, what its counts rest on and what was counted, in words for the people who pay for it. */

import type { Static } from 'elysia'
import type { REQUEST_DETAIL } from '../../http/usage-documents.ts'
import type { Mood } from './badge.tsx'

/** A request with the computation of its cost, as `/v1/dashboard/usage/requests/{id}` answers it; a list has requests without the computation. */
export type RequestDetail = Static<typeof REQUEST_DETAIL>
export type RequestRow = Omit<RequestDetail, 'lines' | 'explanation'>

export const OUTCOME_WORDS: Readonly<Record<RequestRow['outcome'], readonly [Mood, string]>> = {
  complete: ['quiet', 'complete'],
  leaver: ['quiet', 'client left'],
  deadline: ['wary', 'time limit'],
  cut: ['wary', 'key disabled'],
  fault: ['bad', 'provider failed'],
  drain: ['bad', 'gateway stopped'],
  recovered: ['bad', 'gateway failed'],
}

export const BASIS_WORDS: Readonly<Record<RequestRow['basis'], string>> = {
  final: 'the provider’s final figures',
  partial: 'the provider’s last figures before the end',
  estimated: 'estimated from the delivered text',
  none: 'nothing was counted',
}

export const ITEM_WORDS: Readonly<Record<RequestDetail['lines'][number]['item'], string>> = {
  input_tokens: 'Input',
  output_tokens: 'Output',
  cache_read_input_tokens: 'Cache read',
  ephemeral_5m_input_tokens: 'Cache write, 5 min',
  ephemeral_1h_input_tokens: 'Cache write, 1 h',
  server_tool_uses: 'Server tool uses',
}

export const FORMAT_WORDS: Readonly<Record<RequestRow['format'], string>> = {
  messages: 'messages',
  chat: 'chat completions',
  responses: 'responses',
}
