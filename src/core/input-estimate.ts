/**
 * What the input of a request is taken for where its upstream gives no figure, or one that cannot be true. Media are counted by their number: base64 is no text.
 * Rules: money.md "Estimates".
 */

import { isObject, type JsonObject } from './json.ts'

/** Media in a request: how many bytes of its body they are, and how many images and pages. */
export type Media = Readonly<{ bytes: number; parts: number }>

export const NO_MEDIA: Media = { bytes: 0, parts: 0 }

/** The vendor's price of an image of a usual size; a page is one. */
const TOKENS_A_PART = 1_600
/** Base64 of a page that is neither bare text nor a scan. How many there are stands in the file, compressed: too dear to look up for an estimate. */
const PAGE_BYTES = 50_000

/** `bodyBytes`: of the native body. `isBounded`: a token of it is never shorter than a byte. At most what is held for the input. */
export function inputEstimate(
  { bodyBytes, media, isBounded }: Readonly<{ bodyBytes: number; media: Media; isBounded: boolean }>,
  { contextWindow, bytesPerToken }: Readonly<{ contextWindow: number; bytesPerToken: number }>,
): number {
  const text = Math.floor(Math.max(0, bodyBytes - media.bytes) / bytesPerToken)
  return Math.min(contextWindow, isBounded ? bodyBytes : contextWindow, text + media.parts * TOKENS_A_PART)
}

/** Of a block itself, without those inside it. */
export function mediaOf({ type, source }: JsonObject): Media {
  if (!isObject(source) || source['type'] === 'text' || source['type'] === 'content') return NO_MEDIA
  const { data } = source
  if (source['type'] !== 'base64' || typeof data !== 'string') return LINKED
  return { bytes: data.length, parts: type === 'document' ? Math.max(1, Math.ceil(data.length / PAGE_BYTES)) : 1 }
}

/** A link or a file: nothing of it is in the body. */
const LINKED: Media = { bytes: 0, parts: 1 }

export const addMedia = (a: Media, b: Media): Media => (b === NO_MEDIA ? a : { bytes: a.bytes + b.bytes, parts: a.parts + b.parts })
