/**
 * The thread of the history: it writes and reads the file, so that no request waits for its disk. This is a Worker's own file: the thread starts when the file is loaded.
 * Rules: pages.md "History".
 */

import { statSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { isDamage, isOfTheDisk } from '../../db/damage.ts'
import { setAside } from '../../db/set-aside.ts'
import { HistoryFile } from './history-file.ts'
import type { FromHistoryThread, ToHistoryThread } from './task.ts'

const PRUNE_MS = 10 * 60_000
const SUFFIXES = ['-wal', '-shm', '']

type Say = (message: FromHistoryThread) => void

class HistoryWriter {
  readonly #path: string
  readonly #say: Say
  #file: HistoryFile | undefined
  #prunedAtMs = Number.NEGATIVE_INFINITY

  constructor(path: string, say: Say) {
    this.#path = path
    this.#say = say
  }

  write({ number, writer, moments, isWhole }: Extract<ToHistoryThread, { kind: 'write' }>): void {
    this.#answering(number, (file) => {
      file.write(writer, moments, { now: Date.now(), isWhole })
      this.#prune(file)
      return { kind: 'written', number }
    })
  }

  read({ number, asked }: Extract<ToHistoryThread, { kind: 'read' }>): void {
    this.#answering(number, (file) => ({ kind: 'found', number, found: file.read(asked, Date.now()) }))
  }

  traffic({ number, asked }: Extract<ToHistoryThread, { kind: 'traffic' }>): void {
    this.#answering(number, (file) => ({ kind: 'traffic', number, read: file.traffic(asked, Date.now()) }))
  }

  #prune(file: HistoryFile): void {
    if (performance.now() < this.#prunedAtMs + PRUNE_MS) return
    file.prune(Date.now())
    this.#prunedAtMs = performance.now()
  }

  #answering(number: number, work: (file: HistoryFile) => FromHistoryThread): void {
    try {
      this.#say(this.#attempt(work))
    } catch (error) {
      if (!isOfTheDisk(error)) throw error
      this.#say({ kind: 'failed', number, problem: error.message })
    }
  }

  /** A file that is damaged is opened anew, since another process may have begun another one; where that is damaged, too, it is set aside. */
  #attempt<T>(work: (file: HistoryFile) => T): T {
    for (let tries = 1; ; tries++) {
      const tried = inodeOf(this.#path)
      try {
        return work(this.#opened())
      } catch (error) {
        if (!isDamage(error) || tries === 3) throw error
        this.#drop()
        const isTheSame = tries === 2 && inodeOf(this.#path) === tried
        if (isTheSame) this.#say({ kind: 'setAside', problem: error.message, files: setAside(this.#path, SUFFIXES, Date.now()) })
      }
    }
  }

  #opened(): HistoryFile {
    if (this.#file?.isInPlace() === false) this.#drop()
    this.#file ??= new HistoryFile(this.#path)
    return this.#file
  }

  #drop(): void {
    const file = this.#file
    this.#file = undefined
    file?.close()
  }
}

/** Undefined: there is no file. */
const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the thread of the history runs in a Worker only')
  let writer: HistoryWriter | undefined
  port.on('message', (message: ToHistoryThread) => {
    switch (message.kind) {
      case 'open':
        writer = new HistoryWriter(message.path, (said) => port.postMessage(said))
        return
      case 'write':
        return writer?.write(message)
      case 'read':
        return writer?.read(message)
      case 'traffic':
        return writer?.traffic(message)
    }
  })
}

run()
