/** Parts of a message or of a tool's output to native blocks. Rules: responses.md "Items"; translation.md "Media". */

import { isGiven, isObject, type JsonObject, NOT_A_STRING, NOT_AN_OBJECT, REQUIRED } from '../../json.ts'
import { type Block, isBlank, marked, textBlock } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { readPartMarker } from '../translate/caching.ts'
import { documentLink, fileBlock, imageBlock } from '../translate/media.ts'

/** `text`: media is refused, since native takes none from the assistant or in the system prompt. */
export type Allowed = 'text' | 'media'

/** A string or an array of parts. */
export function readContent(content: unknown, path: string, allowed: Allowed): readonly Block[] | Refusal {
  if (!isGiven(content)) return invalid(path, REQUIRED)
  if (typeof content === 'string') return isBlank(content) ? [] : [textBlock(content)]
  if (!Array.isArray(content)) return invalid(path, 'Input should be a valid string or array')
  const blocks: Block[] = []
  for (const [index, part] of content.entries()) {
    const block = readPart(part, `${path}.${index}`, allowed)
    if (block instanceof Refusal) return block
    blocks.push(block)
  }
  return blocks
}

function readPart(part: unknown, path: string, allowed: Allowed): Block | Refusal {
  if (!isObject(part)) return invalid(path, NOT_AN_OBJECT)
  const marker = readPartMarker(part, () => path)
  if (marker instanceof Refusal) return marker
  const block = readBlock(part, path, allowed)
  return block instanceof Refusal ? block : marked(block, marker)
}

export const isTextType = (type: unknown): boolean => type === 'input_text' || type === 'output_text' || type === 'text'

function readBlock(part: JsonObject, path: string, allowed: Allowed): Block | Refusal {
  const { type } = part
  if (!isGiven(type)) return invalid(`${path}.type`, REQUIRED)
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return readText(part['text'], `${path}.text`)
    case 'refusal':
      return readText(part['refusal'], `${path}.refusal`)
    case 'input_image':
      return allowed === 'media' ? readImage(part, path) : unsupported(type, path)
    case 'input_file':
      return allowed === 'media' ? readFile(part, path) : unsupported(type, path)
    default:
      return unsupported(type, path)
  }
}

function readText(text: unknown, path: string): Block | Refusal {
  if (!isGiven(text)) return invalid(path, REQUIRED)
  return typeof text === 'string' ? textBlock(text) : invalid(path, NOT_A_STRING)
}

function readImage(part: JsonObject, path: string): Block | Refusal {
  const { image_url: image, file_id: fileId } = part
  const url = isObject(image) ? image['url'] : image
  if (isGiven(url)) return imageBlock(url, `${path}.image_url`)
  return isGiven(fileId) ? invalid(`${path}.file_id`, 'not supported; send image_url') : invalid(`${path}.image_url`, REQUIRED)
}

function readFile(part: JsonObject, path: string): Block | Refusal {
  const { file_data: data, file_url: url, file_id: fileId, filename } = part
  if (isGiven(data)) return fileBlock(data, filename, `${path}.file_data`)
  if (isGiven(url)) return documentLink(url, `${path}.file_url`)
  return isGiven(fileId) ? invalid(`${path}.file_id`, 'not supported; send file_data') : invalid(`${path}.file_data`, REQUIRED)
}

const TYPE_LENGTH_SHOWN_MAX = 100

export const unsupported = (type: unknown, path: string): Refusal =>
  invalid(`${path}.type`, `"${String(type).slice(0, TYPE_LENGTH_SHOWN_MAX)}" is not supported`)
