/** The native content blocks, turns and tools that translated requests are made of. Rules: native.md "Request fields", "What native refuses". */

import { isObject, type JsonObject } from '../json.ts'

/** `{"type":"ephemeral"}`, with a time to live where the client named one. */
export type CacheControl = Readonly<{ type: 'ephemeral'; ttl?: '5m' | '1h' }>

/** A native content block. Its type decides its further fields; every block that a translation makes may have `cache_control`. */
export type Block = Readonly<{ type: string; cache_control?: CacheControl }> & JsonObject

export type TextBlock = Readonly<{ type: 'text'; text: string; cache_control?: CacheControl }>

/** A turn of one plain text is a string: a body may hold a quarter of a million of them. */
export type Turn = Readonly<{ role: 'user' | 'assistant'; content: string | readonly Block[] }>

export const blocksOf = (content: Turn['content']): readonly Block[] => (typeof content === 'string' ? [textBlock(content)] : content)

export type NativeTool = Readonly<{ name: string; input_schema: JsonObject; description?: string; cache_control?: CacheControl }> &
  JsonObject

export const textBlock = (text: string, cacheControl?: CacheControl): TextBlock =>
  cacheControl === undefined ? { type: 'text', text } : { type: 'text', text, cache_control: cacheControl }

/** The text of content that is a string, or one part with a type and a text and nothing else; undefined for all else. */
export function plainText(content: unknown, isTextType: (type: unknown) => boolean): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content) || content.length !== 1) return undefined
  const part: unknown = content[0]
  if (!isObject(part) || !isTextType(part['type'])) return undefined
  const { text } = part
  return typeof text === 'string' && Object.keys(part).length === 2 ? text : undefined
}

/** The block with a marker; its own marker stays when it has one. */
export const marked = <B extends Block | TextBlock>(block: B, cacheControl: CacheControl | undefined): B =>
  cacheControl === undefined || block.cache_control !== undefined ? block : { ...block, cache_control: cacheControl }

export const isBlank = (text: string): boolean => !startsVisibly(text) && !VISIBLE.test(text)

/** A quick test: nearly every text begins with a visible ASCII character. */
function startsVisibly(text: string): boolean {
  const code = text.charCodeAt(0)
  return code > 0x20 && code < 0x7f
}

/** A search for this stops at the first visible character; `trim` would copy a long text. */
const VISIBLE = /\S/

/** A text block without a visible character, which native refuses. */
const isBlankText = (block: Block): boolean => block.type === 'text' && (typeof block['text'] !== 'string' || isBlank(block['text']))

/** One message's blocks without blank text. A dropped block's marker moves to the block kept before it, else it is lost: translation.md "Caching". */
export function withoutBlankText<B extends Block | TextBlock>(blocks: readonly B[]): B[] {
  const kept: B[] = []
  for (const block of blocks) {
    if (!isBlankText(block)) kept.push(block)
    else markLast(kept, block.cache_control)
  }
  return kept
}

/** Adds to the end; `push(...more)` would need an argument a block, and a message may hold more blocks than a call may have arguments. */
export function append<B>(blocks: B[], more: readonly B[]): void {
  for (const block of more) blocks.push(block)
}

/** Puts a marker on the last block, in place; does nothing where there is no marker or no block. */
export function markLast<B extends Block | TextBlock>(blocks: B[], cacheControl: CacheControl | undefined): void {
  const last = blocks.pop()
  if (last !== undefined) blocks.push(marked(last, cacheControl))
}
