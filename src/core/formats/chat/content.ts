/**
 * Chat's message content, a string or parts, to native blocks.
 * Rules: chat.md "Messages"; translation.md "Media". Nothing is lost silently: a part that native has no block for is refused.
 */

import { isGiven, isObject, type JsonObject, NOT_A_STRING, NOT_AN_OBJECT, REQUIRED } from '../../json.ts'
import { type Block, marked, textBlock } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { readPartMarker } from '../translate/caching.ts'
import { documentLink, fileBlock, imageBlock, isLink } from '../translate/media.ts'
import { thinkingBlocks } from '../translate/thinking.ts'

export type ContentRole = 'system' | 'user' | 'assistant' | 'tool'

/** Part types a message may hold. `tool_use` and `tool_result` are returned as they are: the caller pairs their ids. */
const PART_TYPES: Readonly<Record<ContentRole, ReadonlySet<string>>> = {
  system: new Set(['text']),
  user: new Set(['text', 'image_url', 'file', 'image', 'document', 'tool_result']),
  assistant: new Set(['text', 'refusal', 'thinking', 'redacted_thinking', 'tool_use']),
  tool: new Set(['text', 'image_url', 'file', 'image', 'document']),
}

/** Makes the path of a content or part, only when a refusal names it: there may be a quarter of a million parts, and hardly ever a refusal. */
type Path = () => string

/** Blocks in order, blank text included. Content that is not given is refused in system and user messages, and gives no blocks elsewhere. */
export function readContent(content: unknown, role: ContentRole, path: Path): Block[] | Refusal {
  if (typeof content === 'string') return [textBlock(content)]
  if (!isGiven(content)) return role === 'assistant' || role === 'tool' ? [] : invalid(path(), REQUIRED)
  if (!Array.isArray(content)) return invalid(path(), 'Input should be a string or an array of parts')
  const blocks: Block[] = []
  for (const [index, part] of content.entries()) {
    const block = readPart(part, role, () => `${path()}[${index}]`)
    if (block instanceof Refusal) return block
    if (block !== undefined) blocks.push(block)
  }
  return blocks
}

/** Undefined for thinking that cannot be sent back. */
function readPart(part: unknown, role: ContentRole, path: Path): Block | undefined | Refusal {
  if (!isObject(part)) return invalid(path(), NOT_AN_OBJECT)
  const { type } = part
  if (typeof type !== 'string') return invalid(`${path()}.type`, isGiven(type) ? NOT_A_STRING : REQUIRED)
  if (!PART_TYPES[role].has(type)) return invalid(path(), `${type.slice(0, 100)} content is not supported in ${role} messages`)
  if (type === 'thinking' || type === 'redacted_thinking') return thinkingBlocks([part])[0]
  if (type === 'tool_use' || type === 'tool_result') return { ...part, type } as Block
  const block = readBlock(type, part, path)
  if (block instanceof Refusal) return block
  const marker = readPartMarker(part, path)
  return marker instanceof Refusal ? marker : marked(block, marker)
}

function readBlock(type: string, part: JsonObject, path: Path): Block | Refusal {
  switch (type) {
    case 'text':
    case 'refusal': {
      const text = part[type]
      return typeof text === 'string' ? textBlock(text) : invalid(`${path()}.${type}`, isGiven(text) ? NOT_A_STRING : REQUIRED)
    }
    case 'image_url': {
      const image = part['image_url']
      return isObject(image) ? imageBlock(image['url'], `${path()}.image_url.url`) : imageBlock(image, `${path()}.image_url`)
    }
    case 'file':
      return readFile(part['file'], `${path()}.file`)
    default:
      return nativeMedia(type, part, path())
  }
}

function readFile(file: unknown, path: string): Block | Refusal {
  if (!isObject(file)) return invalid(path, NOT_AN_OBJECT)
  if (isGiven(file['file_data'])) return fileBlock(file['file_data'], file['filename'], `${path}.file_data`)
  if (isGiven(file['file_url'])) return documentLink(file['file_url'], `${path}.file_url`)
  return isGiven(file['file_id'])
    ? invalid(`${path}.file_id`, 'file_id is not supported; send file_data')
    : invalid(`${path}.file_data`, REQUIRED)
}

/** A native image or document block: passed on as it is, unless its source names an object of another account, which is refused. */
function nativeMedia(type: string, part: JsonObject, path: string): Block | Refusal {
  const { cache_control: _marker, prompt_cache_breakpoint: _breakpoint, ...block } = part
  const { source } = block
  if (!isObject(source)) return invalid(`${path}.source`, NOT_AN_OBJECT)
  switch (isGiven(source['file_id']) ? 'file' : source['type']) {
    case 'base64':
    case 'text':
      return { ...block, type }
    case 'content': {
      const content = nestedContent(source['content'], `${path}.source.content`)
      return content instanceof Refusal ? content : { ...block, type, source: { ...source, content } }
    }
    case 'url':
      return typeof source['url'] === 'string' && isLink(source['url'])
        ? { ...block, type }
        : invalid(`${path}.source.url`, 'Input should be an http(s) URL')
    default:
      return invalid(`${path}.source.type`, 'Input should be one of base64, text, content, url')
  }
}

/** The blocks inside a document follow the same rules as all others. Their markers are removed: the cache writes that they ask for would cost money without being counted. */
function nestedContent(content: unknown, path: string): unknown {
  if (typeof content === 'string') return content
  const blocks = readContent(content, 'tool', () => path)
  return blocks instanceof Refusal ? blocks : blocks.map(({ cache_control: _marker, ...block }) => block)
}
