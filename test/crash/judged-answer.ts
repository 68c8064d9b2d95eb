/** One request of any format, and how it ended as its client sees it: whole, as one error inside a stream, or refused. Anything else is thrown. */

import type { FormatName } from '../../src/core/format.ts'
import { endOf, FORMATS, question } from '../support/stage.ts'

export type Judged = Readonly<{
  requestId: string
  status: number
  /** refused: by its status · broken: an error told inside a stream · left: its client went away, as it was asked to. */
  end: 'complete' | 'broken' | 'refused' | 'left'
  retryAfter: string | null
}>

export type Asked = Readonly<{
  url: string
  secret: string
  format: FormatName
  stream: boolean
  prompt: string
  more?: Readonly<Record<string, unknown>>
  /** The client leaves then. */
  leave?: AbortSignal
}>

export const formatAt = (random: number): FormatName => FORMATS[Math.floor(random * FORMATS.length)] ?? 'messages'

export async function askAndJudge({ url, secret, format, stream, prompt, more = {}, leave }: Asked): Promise<Judged> {
  const said = format === 'responses' ? { input: prompt } : { messages: [{ role: 'user', content: prompt }] }
  const { path, body } = question({ format, stream, more: { ...said, ...more } })
  const headers = { authorization: `Bearer ${secret}` }
  let requestId = ''
  try {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), ...(leave && { signal: leave }) })
    requestId = response.headers.get('x-request-id') ?? ''
    const seen = { requestId, status: response.status, retryAfter: response.headers.get('retry-after') }
    const text = await response.text()
    if (response.status !== 200) return { ...seen, end: 'refused' }
    if (!stream) JSON.parse(text)
    const end = stream ? endOf(format, text) : 'complete'
    if (end === 'none') throw new Error(`a stream without an end: ${text.slice(-300)}`)
    return { ...seen, end: end === 'complete' ? end : 'broken' }
  } catch (error) {
    if (leave?.aborted === true) return { requestId, status: 0, retryAfter: null, end: 'left' }
    throw error
  }
}
