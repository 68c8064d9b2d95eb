/**
 * The plain text of a kept answer before it is sealed: the length of a head, the head as JSON, and the answer's parts one after another. The ids of items are inside,
 * so that the file reveals none. Rules: requests.md "Kept answers".
 */

/** `id`: the id by which a later request can refer to the part alone. */
type Part = Readonly<{ id?: string; bytes: Uint8Array }>

/** `text`: the caller's own text, such as a status and a type. */
export type Opened = Readonly<{ text: string; parts: readonly Part[] }>

type Head = Readonly<{ text: string; parts: readonly (number | readonly [length: number, id: string])[] }>

const LENGTH_BYTES = 4

/** The head alone: the parts' bytes follow it. */
export function headOf(text: string, parts: readonly Readonly<{ id?: string; byteLength: number }>[]): Uint8Array {
  const head: Head = { text, parts: parts.map(({ id, byteLength }) => (id === undefined ? byteLength : [byteLength, id])) }
  const json = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(json.byteLength)
  return Buffer.concat([length, json])
}

/** Parts are views of `bytes`. Only this program can have sealed them, so their form is not checked. */
export function partsOf(bytes: Uint8Array): Opened {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = LENGTH_BYTES + all.readUInt32LE(0)
  const head: Head = JSON.parse(all.toString('utf8', LENGTH_BYTES, at))
  const parts = head.parts.map((part): Part => {
    const [length, id] = typeof part === 'number' ? [part] : part
    const own = all.subarray(at, at + length)
    at += length
    return id === undefined ? { bytes: own } : { id, bytes: own }
  })
  return { text: head.text, parts }
}
