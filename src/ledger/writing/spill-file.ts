/**
 * A file whose room on disk is reserved in advance: frames are appended and flushed when the ledger itself cannot be written. A frame counts whole or not at
 * all: its checksum covers all its bytes and the epoch, so that neither a torn frame nor one that was replayed before is read. Rules: ledger.md "Spill".
 */

import { closeSync, constants, existsSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'

/** The header, in the first sector: magic, epoch, and the owner of the file. */
const HEADER_BYTES = 512
const MAGIC = 0x544c_5350
const OWNER_AT = 12
const FRAME_HEAD_BYTES = 8
const STEP_BYTES = 1024 * 1024
const OPEN_OR_MAKE = constants.O_RDWR | constants.O_CREAT

/** Writes an open file's data to its disk. Throws what the file system says. */
type Flush = (handle: number) => void

export class SpillFile {
  readonly #handle: number
  readonly #owner: string
  readonly #flush: Flush
  #epoch = 1
  #end = HEADER_BYTES
  #frames: Uint8Array[] = []

  private constructor(handle: number, owner: string, flush: Flush) {
    this.#handle = handle
    this.#owner = owner
    this.#flush = flush
  }

  /** Undefined: there is no file, and `create` is false. `foreign`: the file has frames of another owner. Throws what the file system says. */
  static open(path: string, owner: string, create: boolean, flush: Flush = fdatasyncSync): SpillFile | 'foreign' | undefined {
    if (!create && !existsSync(path)) return undefined
    const spill = new SpillFile(openSync(path, OPEN_OR_MAKE, 0o600), owner, flush)
    if (spill.#load()) return spill
    spill.close()
    return 'foreign'
  }

  /** Frames appended since the last `clear`, by whichever process. */
  get frames(): readonly Uint8Array[] {
    return this.#frames
  }

  /** The length of all frames, their heads included. */
  get bytes(): number {
    return this.#end - HEADER_BYTES
  }

  /** Reserves the whole room for later frames, or none of it: a part would take the last room that the ledger has. */
  reserve(bytes: number): void {
    const { size } = fstatSync(this.#handle)
    let at = Math.max(size, this.#end)
    if (at >= bytes) return
    const zeros = new Uint8Array(STEP_BYTES)
    try {
      while (at < bytes) at += writeSync(this.#handle, zeros, 0, Math.min(STEP_BYTES, bytes - at), at)
      this.#writeHeader()
      this.#flush(this.#handle)
    } catch (error) {
      ftruncateSync(this.#handle, size)
      throw error
    }
  }

  /** True: the frame is flushed. False: the frame is not kept, and no later run will find it. */
  append(frame: Uint8Array): boolean {
    const bytes = Buffer.alloc(FRAME_HEAD_BYTES + frame.length)
    bytes.writeUInt32LE(frame.length, 0)
    bytes.writeUInt32LE(checksumOf(frame, this.#epoch), 4)
    bytes.set(frame, FRAME_HEAD_BYTES)
    try {
      if (this.#frames.length === 0) this.#writeHeader()
      if (writeSync(this.#handle, bytes, 0, bytes.length, this.#end) !== bytes.length) throw new Error('no room')
      this.#flush(this.#handle)
    } catch {
      this.#forgetFrameAt(this.#end)
      return false
    }
    this.#end += bytes.length
    this.#frames.push(frame)
    return true
  }

  /** To be called when all frames were replayed. A crash before the new header is on disk makes them be replayed again, which changes nothing. */
  clear(): void {
    this.#frames = []
    this.#end = HEADER_BYTES
    this.#epoch++
    try {
      this.#writeHeader()
      this.#flush(this.#handle)
    } catch {
      // The header is written again with the next frame.
    }
  }

  /** Whether the file is still at the path, and was not taken away. */
  isAt(path: string): boolean {
    const there = statSync(path, { throwIfNoEntry: false })
    const own = fstatSync(this.#handle)
    return there?.ino === own.ino && there.dev === own.dev
  }

  close(): void {
    closeSync(this.#handle)
  }

  /** Overwrites the head of a frame that could not be flushed: after a crash the frame might otherwise be found, although its owner was told that it is not kept. */
  #forgetFrameAt(at: number): void {
    try {
      writeSync(this.#handle, new Uint8Array(FRAME_HEAD_BYTES), 0, FRAME_HEAD_BYTES, at)
      this.#flush(this.#handle)
    } catch {
      // If nothing can be written at this place now, the frame was not written there either.
    }
  }

  #writeHeader(): void {
    const bytes = Buffer.alloc(HEADER_BYTES)
    bytes.writeUInt32LE(MAGIC, 0)
    bytes.writeUInt32LE(this.#epoch, 4)
    bytes.writeUInt32LE(Bun.hash.crc32(this.#owner), 8)
    bytes.write(this.#owner, OWNER_AT)
    if (writeSync(this.#handle, bytes, 0, HEADER_BYTES, 0) !== HEADER_BYTES) throw new Error('no room')
  }

  /** False: another owner's frames are in it. */
  #load(): boolean {
    const { size } = fstatSync(this.#handle)
    const bytes = Buffer.alloc(size)
    for (let at = 0; at < size; ) {
      const read = readSync(this.#handle, bytes, at, size - at, at)
      if (read === 0) break
      at += read
    }
    if (size < HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) return true
    this.#epoch = bytes.readUInt32LE(4)
    while (this.#end + FRAME_HEAD_BYTES <= size) {
      const length = bytes.readUInt32LE(this.#end)
      const frame = bytes.subarray(this.#end + FRAME_HEAD_BYTES, this.#end + FRAME_HEAD_BYTES + length)
      if (length === 0 || frame.length !== length || bytes.readUInt32LE(this.#end + 4) !== checksumOf(frame, this.#epoch)) break
      this.#frames.push(new Uint8Array(frame))
      this.#end += FRAME_HEAD_BYTES + length
    }
    return this.#frames.length === 0 || bytes.readUInt32LE(8) === Bun.hash.crc32(this.#owner)
  }
}

const checksumOf = (frame: Uint8Array, epoch: number): number => Bun.hash.crc32(frame, epoch)
