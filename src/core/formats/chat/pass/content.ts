/**
 * Checks the messages and tools of a chat request that is forwarded as it is: they must not name another account's objects, cost another price, or need an input that
 * the model does not take. Rules: openai.md "Chat requests"; money.md "Holds".
 */

import type { Model } from '../../../catalog.ts'
import { addMedia, type Media, mediaOf, NO_MEDIA } from '../../../input-estimate.ts'
import { isGiven, isObject, type JsonObject, NOT_AN_OBJECT } from '../../../json.ts'
import { invalid, Refusal } from '../../../refusal.ts'

/** `isOpaque`: the bytes of the messages do not bound their tokens. */
export type Surveyed = Readonly<{ isOpaque: boolean; media: Media }>

/** The media of a part; undefined for a part whose bytes bound its tokens. */
type Read = Media | undefined

export function survey(messages: readonly JsonObject[], rejects: Model['rejects']): Surveyed | Refusal {
  let isOpaque = false
  let media = NO_MEDIA
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [place, part] of content.entries()) {
      const read: Read | Refusal = isObject(part) ? readPart(part, `messages[${index}].content[${place}]`, rejects) : undefined
      if (read instanceof Refusal) return read
      if (read === undefined) continue
      isOpaque = true
      media = addMedia(media, read)
    }
  }
  return { isOpaque, media }
}

function readPart(part: JsonObject, path: string, rejects: Model['rejects']): Read | Refusal {
  switch (part['type']) {
    case 'text':
    case 'refusal':
      return undefined
    case 'image_url':
      return rejects.has('images') ? invalid(path, 'image_url is not supported by this model') : imageOf(part['image_url'])
    case 'file':
      return rejects.has('documents') ? invalid(path, 'file is not supported by this model') : fileOf(part['file'], path)
    default:
      return invalid(path, `${String(part['type']).slice(0, 100)} is not supported by this service`)
  }
}

const imageOf = (image: unknown): Media => mediaOf({ type: 'image', source: sourceOf(isObject(image) ? image['url'] : image) })

function fileOf(file: unknown, path: string): Media | Refusal {
  if (!isObject(file)) return invalid(`${path}.file`, NOT_AN_OBJECT)
  if (isGiven(file['file_id'])) return invalid(`${path}.file.file_id`, 'file_id is not supported; send file_data')
  return mediaOf({ type: 'document', source: sourceOf(file['file_data']) })
}

const sourceOf = (url: unknown): JsonObject =>
  typeof url === 'string' && url.startsWith('data:') ? { type: 'base64', data: url } : { type: 'url' }

/** Refuses tools that the server runs itself: they have a price of their own. */
export function checkTools(tools: unknown): Refusal | undefined {
  if (!Array.isArray(tools)) return undefined
  for (const [index, tool] of tools.entries()) {
    if (!isObject(tool)) return invalid(`tools[${index}]`, NOT_AN_OBJECT)
    const { type } = tool
    if (isGiven(type) && !CLIENTS.has(type))
      return invalid(`tools[${index}].type`, `tool type ${JSON.stringify(type).slice(0, 100)} is not supported`)
  }
  return undefined
}

const CLIENTS = new Set<unknown>(['function', 'custom'])
