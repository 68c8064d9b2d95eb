/** Native content as the parts of a chat message: text and images; documents only where they are text. Rules: openai.md "Native requests". */

import type { Model } from '../../../catalog.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { invalid, Refusal } from '../../../refusal.ts'

export type Part = Readonly<{ type: 'text'; text: string }> | Readonly<{ type: 'image_url'; image_url: Readonly<{ url: string }> }>

/** `path` as refusals name the content. */
export function partsOf(content: unknown, path: string, rejects: Model['rejects']): readonly Part[] | Refusal {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const blocks: readonly unknown[] = Array.isArray(content) ? content : []
  const parts: Part[] = []
  for (const [index, block] of blocks.entries()) {
    const part = isObject(block)
      ? partsOfBlock(block, `${path}.${index}`, rejects)
      : invalid(`${path}.${index}`, 'Input should be a valid object')
    if (part instanceof Refusal) return part
    parts.push(...part)
  }
  return parts
}

function partsOfBlock(block: JsonObject, path: string, rejects: Model['rejects']): readonly Part[] | Refusal {
  switch (block['type']) {
    case 'text':
      return typeof block['text'] === 'string'
        ? [{ type: 'text', text: block['text'] }]
        : invalid(`${path}.text`, 'Input should be a valid string')
    case 'image':
      return rejects.has('images') ? unsupported(path, 'image') : imageOf(block['source'], path)
    case 'document':
      return rejects.has('documents') ? unsupported(path, 'document') : documentOf(block, path, rejects)
    case 'search_result':
      return searchResultOf(block, path, rejects)
    case 'tool_reference':
      return []
    default:
      return unsupported(path, String(block['type']).slice(0, 100))
  }
}

const unsupported = (path: string, type: string): Refusal => invalid(path, `${type} is not supported by this model`)

function imageOf(source: unknown, path: string): readonly Part[] | Refusal {
  const { type, url, media_type: mediaType, data } = isObject(source) ? source : {}
  if (type === 'url' && typeof url === 'string') return [{ type: 'image_url', image_url: { url } }]
  if (type === 'base64' && typeof data === 'string' && typeof mediaType === 'string')
    return [{ type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }]
  return invalid(`${path}.source`, 'Input should be base64 or an http(s) URL')
}

/** A document's text, with its title and context before it. */
function documentOf({ source, title, context }: JsonObject, path: string, rejects: Model['rejects']): readonly Part[] | Refusal {
  const { type, data, content } = isObject(source) ? source : {}
  const head = [title, context].filter((line) => typeof line === 'string' && line !== '').join('\n')
  const titled: readonly Part[] = head === '' ? [] : [{ type: 'text', text: head }]
  if (type === 'text' && typeof data === 'string') return [...titled, { type: 'text', text: data }]
  if (type !== 'content') return unsupported(`${path}.source`, 'a document that is no text')
  const parts = partsOf(content, `${path}.source.content`, rejects)
  return parts instanceof Refusal ? parts : [...titled, ...parts]
}

function searchResultOf({ source, title, content }: JsonObject, path: string, rejects: Model['rejects']): readonly Part[] | Refusal {
  const parts = partsOf(content, `${path}.content`, rejects)
  if (parts instanceof Refusal) return parts
  const head = [title, source].filter((line) => typeof line === 'string' && line !== '').join('\n')
  return [{ type: 'text', text: head }, ...parts]
}

/** Content of text alone becomes a string, which servers that take no parts accept, too. */
export const contentOf = (parts: readonly Part[]): string | readonly Part[] => (parts.every(isText) ? textOf(parts) : parts)

export const textOf = (parts: readonly Part[]): string =>
  parts
    .filter(isText)
    .map(({ text }) => text)
    .join('\n')

export const isText = (part: Part): part is Extract<Part, { type: 'text' }> => part.type === 'text'
