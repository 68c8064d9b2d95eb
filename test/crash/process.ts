/**
 * The gateway as a process of its own, in a folder of its own: every byte that it and the commands say is kept, so that a test can look for secrets in it.
 * Its environment is bare: only what a test gives, so that it re-executes itself as it does for an operator.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../support/made-once.ts'
import { PROGRAM } from './compiled.ts'

/** The program, not yet compiled: for what is preloaded into it. */
export const SOURCE: readonly string[] = [process.execPath, join(ROOT, 'src/main.ts')]
/** For one process that starts, answers or ends; generous, for slow machines. */
export const PROCESS_TIMEOUT_MS = 120_000

export type Ran = Readonly<{ code: number; out: string; err: string }>
export type Environment = Readonly<Record<string, string>>
export type Key = Readonly<{ id: string; key: string; account_id: string; balance_usd: number; held_usd: number; spent_usd: number }>

export type ServeOptions = Readonly<{ env?: Environment; args?: readonly string[]; program?: readonly string[] }>

export type GatewayProcess = Readonly<{
  pid: number
  url: string
  /** Where `/readyz` and `/metrics` are. */
  operatorUrl: string
  out(): string
  err(): string
  /** Waits for words on standard error, from `offset` on. */
  said(words: string, offset?: number): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Resolves when it has ended and all it said is read. */
  exited: Promise<Readonly<{ code: number | null; signal: string | number | null }>>
}>

export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-crash-'))
  readonly ledgerPath = join(this.folder, 'data', 'tollgate.db')
  readonly #program: readonly string[]
  readonly #transcripts: (() => string)[] = []
  readonly #running = new Set<GatewayProcess>()
  readonly #env: Environment

  /** `env`: of every process here. */
  constructor(program: readonly string[] = PROGRAM, env: Environment = {}) {
    this.#program = program
    this.#env = env
    mkdirSync(join(this.folder, 'data'))
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  /** Runs a command to its end. */
  async run(...argv: readonly string[]): Promise<Ran> {
    const child = this.#spawn([...this.#program, ...argv], {})
    const timer = setTimeout(() => child.kill('SIGKILL'), PROCESS_TIMEOUT_MS)
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    const code = await child.exited
    clearTimeout(timer)
    this.#transcripts.push(() => (argv[0] === 'keys' && argv[1] === 'create' ? err : out + err))
    if (child.signalCode !== null) throw new Error(`${argv.join(' ')} did not end by itself: ${out}${err}`)
    return { code, out, err }
  }

  /** What a command prints with `--json`; it must succeed. */
  async json<T>(...argv: readonly string[]): Promise<T> {
    const { code, out, err } = await this.run(...argv, '--json')
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${out}${err}`)
    return JSON.parse(out) as T
  }

  createKey(...options: readonly string[]): Promise<Key> {
    return this.json<Key>('keys', 'create', '--balance', '100', ...options)
  }

  async verify(): Promise<void> {
    const { code, out, err } = await this.run('verify')
    if (code !== 0) throw new Error(`verify ended with ${code}: ${out}${err}`)
  }

  /** Resolves when it listens. */
  async serve({ env = {}, args = [], program = this.#program }: ServeOptions = {}): Promise<GatewayProcess> {
    const child = this.#spawn([...program, 'serve', '--port', '0', ...args], env)
    const out = collect(child.stdout)
    const err = collect(child.stderr)
    this.#transcripts.push(out.text, err.text)
    const exited = Promise.all([child.exited, out.ended, err.ended]).then(() => ({ code: child.exitCode, signal: child.signalCode }))
    const gone = exited.then(() => {
      throw new Error(`the gateway ended: ${out.text()}${err.text()}`)
    })
    gone.catch(() => undefined)
    await Promise.race([Promise.all([out.has('listening on '), err.has('"operator_url"')]), gone])
    const gateway: GatewayProcess = {
      pid: child.pid,
      url: /^tollgate listening on (\S+)$/m.exec(out.text())?.[1] ?? '',
      operatorUrl: /"operator_url":"([^"]+)"/.exec(err.text())?.[1] ?? '',
      out: out.text,
      err: err.text,
      said: (words, offset) => Promise.race([err.has(words, offset), gone]),
      signal: (name) => child.kill(name),
      exited,
    }
    this.#running.add(gateway)
    return gateway
  }

  /** The secrets that stand in something that was said or written here. */
  leaked(secrets: readonly string[]): readonly string[] {
    const files = readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => textOf(join(entry.parentPath, entry.name)))
    const all = [...this.#transcripts.map((text) => text()), ...files]
    return secrets.filter((secret) => all.some((text) => text.includes(secret)))
  }

  /** Ends what still runs. */
  async remove(): Promise<void> {
    for (const gateway of this.#running) gateway.signal('SIGKILL')
    await Promise.all([...this.#running].map(({ exited }) => exited))
    rmSync(this.folder, { recursive: true, force: true })
  }

  #spawn(command: readonly string[], env: Environment) {
    return Bun.spawn([...command], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: this.folder, TMPDIR: tmpdir(), ...this.#env, ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  }
}

type Collected = Readonly<{ text: () => string; has: (words: string, offset?: number) => Promise<void>; ended: Promise<void> }>

/** Empty where the file has gone since it was listed, as a journal of SQLite does. */
function textOf(path: string): string {
  try {
    return readFileSync(path).toString('latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** Reads on for as long as the process lives, so that it never waits for us. */
function collect(stream: ReadableStream<Uint8Array>): Collected {
  let text = ''
  const waiting = new Set<() => void>()
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true })
      for (const look of waiting) look()
    }
  }
  const has = (words: string, offset = 0): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!text.slice(offset).includes(words)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { text: () => text, has, ended: read() }
}
