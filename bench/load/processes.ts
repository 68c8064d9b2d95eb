/** The processes that a load runs on: started, spoken to by IPC, and ended with this one. */

import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../clock.ts'
import type { Job, Seen } from './generator.ts'

const HERE = import.meta.dir
/** Lets each process open as many files as the machine allows: a stream is one connection of its client and two of its gateway. */
export const RAISED = ['sh', '-c', 'ulimit -n "$(ulimit -Hn)"; exec "$@"', 'sh']
/** Lets Bun's `fetch` make more calls at a time than it does by default. */
const ENVIRONMENT = { ...process.env, NODE_ENV: 'production', BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' }

export type Running = Readonly<{ pid: number; stop: () => Promise<void> }>

/** Files that one process may open, once its limit is raised as far as it goes. */
export const openFilesMax = (): number => Number(Bun.spawnSync(['sh', '-c', 'ulimit -Hn']).stdout.toString().trim()) || 1_048_576

/** Starts another program. Its output goes to a file, so that this process spends no time on reading it. */
export function start(
  command: readonly string[],
  { cwd, log, env = {} }: { cwd: string; log: string; env?: Readonly<Record<string, string>> },
): Running {
  const said = openSync(log, 'a')
  const child = Bun.spawn([...RAISED, ...command], { cwd, env: { ...ENVIRONMENT, ...env }, stdout: said, stderr: said })
  closeSync(said)
  const stop = async (): Promise<void> => {
    child.kill()
    await child.exited
  }
  return { pid: child.pid, stop }
}

/** A free port, for a program that cannot say which port it took. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  listener.stop(true)
  return listener.port
}

/** Waits until there is an answer at `url`, whatever its status. */
export async function untilAnswers(url: string, timeoutMs = 30_000): Promise<void> {
  for (const until = performance.now() + timeoutMs; performance.now() < until; await sleep(20)) {
    const answered = await fetch(url).then(
      (response) => response.text(),
      () => undefined,
    )
    if (answered !== undefined) return
  }
  throw new Error(`${url} did not answer within ${timeoutMs} ms`)
}

type Child = Readonly<{ pid: number; ask: (message: unknown) => Promise<unknown>; hello: Promise<unknown>; stop: () => Promise<void> }>

/** Starts a file of this folder that answers by IPC; its first message says that it is ready. */
export function startFile(file: string, ...args: readonly string[]): Child {
  let waiting: PromiseWithResolvers<unknown> = Promise.withResolvers()
  const hello = waiting.promise
  const child = Bun.spawn([...RAISED, process.execPath, join(HERE, file), ...args], {
    env: ENVIRONMENT,
    stdout: 'inherit',
    stderr: 'inherit',
    ipc: (message: unknown) => waiting.resolve(message),
    onExit: (_, code, signal) => waiting.reject(new Error(`${file} ended: ${code ?? signal}`)),
  })
  hello.catch(() => undefined)
  const ask = (message: unknown): Promise<unknown> => {
    waiting = Promise.withResolvers()
    child.send(message)
    return waiting.promise
  }
  const stop = async (): Promise<void> => {
    waiting.promise.catch(() => undefined)
    child.kill()
    await child.exited
  }
  return { pid: child.pid, ask, hello, stop }
}

export type Server = Running & Readonly<{ port: number }>

/** Starts `upstream.ts` or `passthrough.ts`. */
export async function startServer(file: string, ...args: readonly string[]): Promise<Server> {
  const child = startFile(file, ...args)
  const { port } = (await child.hello) as { port: number }
  return { pid: child.pid, port, stop: child.stop }
}

export type Generator = Readonly<{ run: (job: Job) => Promise<Seen>; stop: () => Promise<void> }>

export async function startGenerator(): Promise<Generator> {
  const child = startFile('generator.ts')
  await child.hello
  const run = async (job: Job): Promise<Seen> => {
    const seen = (await child.ask(job)) as Seen | { crash: string }
    if ('crash' in seen) throw new Error(seen.crash)
    return seen
  }
  return { run, stop: child.stop }
}
