/**
 * The estimate of a request's input, used where its upstream gives no figure, or one that cannot be true. Media are counted by their number: base64 is no text.
 * Rules: money.md "Estimates".
 */

import { isObject, type JsonObject } from './json.ts'

/** Media in a request: the bytes of the body that they take, and the number of images and pages. */
export type Media = Readonly<{ bytes: number; parts: number }>

export const NO_MEDIA: Media = { bytes: 0, parts: 0 }

/** The vendor's price of an image of a usual size; a page counts as one image. */
const TOKENS_A_PART = 1_600
/** The base64 bytes of a page that is neither bare text nor a scan. The file states its number of pages only in compressed form: too dear to read for an estimate. */
const PAGE_BYTES = 50_000

/** `bodyBytes`: the size of the native body. `isBounded`: no token of the body is shorter than a byte. The estimate is never more than what is held for the input. */
export function inputEstimate(
  { bodyBytes, media, isBounded }: Readonly<{ bodyBytes: number; media: Media; isBounded: boolean }>,
  { contextWindow, bytesPerToken }: Readonly<{ contextWindow: number; bytesPerToken: number }>,
): number {
  const text = Math.floor(Math.max(0, bodyBytes - media.bytes) / bytesPerToken)
  return Math.min(contextWindow, isBounded ? bodyBytes : contextWindow, text + media.parts * TOKENS_A_PART)
}

/** The media of a block itself, without those of the blocks inside it. */
export function mediaOf({ type, source }: JsonObject): Media {
  if (!isObject(source) || source['type'] === 'text' || source['type'] === 'content') return NO_MEDIA
  const { data } = source
  if (source['type'] !== 'base64' || typeof data !== 'string') return LINKED
  return { bytes: data.length, parts: type === 'document' ? Math.max(1, Math.ceil(data.length / PAGE_BYTES)) : 1 }
}

/** A link or a file id: the media's bytes are not in the body. */
const LINKED: Media = { bytes: 0, parts: 1 }

export const addMedia = (a: Media, b: Media): Media => (b === NO_MEDIA ? a : { bytes: a.bytes + b.bytes, parts: a.parts + b.parts })
