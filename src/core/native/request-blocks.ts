/**
 * The content blocks of a native request, wherever they stand: in system, in messages, and inside other blocks. A call's input (tool
 * input) is data and is not walked. Rules: native.md "Request fields".
 */

import { isObject, type JsonObject } from '../json.ts'

/** `path` returns the block's place as refusals name it: "messages.0.content.2". The text is made only for a refusal: a body may hold a quarter of a million blocks. */
export type PlacedBlock = Readonly<{ path: Path; block: JsonObject }>
type Path = () => string

export function blocksOf(json: JsonObject): readonly PlacedBlock[] {
  const found: PlacedBlock[] = []
  collect(json['system'], () => 'system', found)
  const { messages } = json
  if (!Array.isArray(messages)) return found
  messages.forEach((message, index) => {
    if (isObject(message) && typeof message['content'] === 'object') collect(message['content'], () => `messages.${index}.content`, found)
  })
  return found
}

/** Nesting is bounded: the body was refused if it was deeper than `JSON_DEPTH_MAX`. */
function collect(content: unknown, path: Path, found: PlacedBlock[]): void {
  if (Array.isArray(content)) {
    content.forEach((block, index) => {
      addBlock(block, () => `${path()}.${index}`, found)
    })
  } else addBlock(content, path, found)
}

function addBlock(block: unknown, path: Path, found: PlacedBlock[]): void {
  if (!isObject(block)) return
  found.push({ path, block })
  const { content, source } = block
  if (content !== undefined) collect(content, () => `${path()}.content`, found)
  if (isObject(source) && source['content'] !== undefined) collect(source['content'], () => `${path()}.source.content`, found)
}
