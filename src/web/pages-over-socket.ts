/**
 * Pages of relays: one process answers them all, so that it alone knows sign-ins, failures and mails. A relay passes a request on to this process, with the
 * client's address and the address at which the relay was asked. Rules: pages.md "Mounting"; processes.md "Once".
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { rmSync } from 'node:fs'
import { asOwnSocket, isOwnSocket } from '../ledger/relays/socket-file.ts'
import { noticeAway } from '../observe/away-notices.ts'
import { describeBug } from '../observe/bug.ts'
import type { Log } from '../observe/log.ts'
import { PeopleAway } from '../people/people-sql.ts'
import { refuse } from './api/answers.ts'
import { CLIENT_ADDRESS, type Pages } from './mount.ts'
import { answer as failed, peopleAway } from './operator-api/failure.ts'

/** The header with the address `http://HOST:PORT` of the listener at which a relay was asked. */
const LISTENING = 'x-tollgate-listening'

/** The header of a question whether the body may be read; the answer without a refusal has this status. */
const HEAD_ONLY = 'x-tollgate-head-only'
const ADMITTED = 204

/** The pages of a relay. `listening`: the address of the listener on which the relay has these pages. */
export function pagesElsewhere(socket: string, listening: () => string): Pages {
  const pass = async (request: Request, { isHead }: Readonly<{ isHead: boolean }>): Promise<Response> => {
    const headers = new Headers(request.headers)
    headers.set(LISTENING, listening())
    if (isHead) headers.set(HEAD_ONLY, 'yes')
    else headers.delete(HEAD_ONLY)
    const { pathname, search } = new URL(request.url)
    const { method, body } = request
    if (!isOwnSocket(socket)) return away()
    try {
      const answer = await fetch(`http://pages${pathname}${search}`, {
        ...{ method, headers, unix: socket, redirect: 'manual', decompress: false },
        ...(body === null ? {} : { body: await request.bytes() }),
      })
      return new Response(answer.body, { status: answer.status, headers: answer.headers })
    } catch {
      return away()
    }
  }
  return {
    handle: (request) => pass(request, { isHead: false }),
    async admit(head) {
      const answer = await pass(withoutLength(head), { isHead: true })
      return answer.status === ADMITTED ? undefined : answer
    },
  }
}

/** The head of a request with a body, as one without: who asks. */
function withoutLength({ url, method, headers: sent }: Request): Request {
  const headers = new Headers()
  for (const name of ['authorization', CLIENT_ADDRESS]) headers.set(name, sent.get(name) ?? '')
  return new Request(url, { method, headers })
}

const away = (): Response => refuse(503, 'This cannot be looked up at this moment. Try again', { retryAfterS: 1 })

type Asked = Readonly<{ cabinet: string; console: string }>
type Listening = keyof Asked
/** The operator's API is on the listener of the console. */
type Root = Listening | 'api'

/** The addresses for pages that are asked for over a socket: those of the request that runs, else the last ones that are known. */
export class AskedAddresses {
  readonly #running = new AsyncLocalStorage<Asked>()
  #last: Asked

  constructor(first: Asked) {
    this.#last = first
  }

  get now(): Asked {
    return this.#running.getStore() ?? this.#last
  }

  note(root: Listening, address: string): void {
    this.#last = { ...this.#last, [root]: address }
  }

  during<T>(root: Listening, address: string, work: () => T): T {
    this.note(root, address)
    return this.#running.run(this.#last, work)
  }
}

type Shown = Readonly<{
  addresses: AskedAddresses
  pages: Readonly<Record<Root, () => Promise<Pages>>>
  log: Pick<Log, 'alarm' | 'notice'>
}>

const rootOf = (path: string): Root => (path.startsWith('/console') ? 'console' : path.startsWith('/api') ? 'api' : 'cabinet')

/** Answers pages over the socket. Only processes of the same user can reach it, so the client's address that they name is trusted. */
export function listenForPages(path: string, { addresses, pages, log }: Shown): Readonly<{ close(): Promise<void> }> {
  const loaded = new Map<Root, Promise<Pages>>()
  const load = (root: Root): Promise<Pages> => {
    const loading = loaded.get(root) ?? pages[root]()
    loaded.set(root, loading)
    loading.catch(() => loaded.delete(root))
    return loading
  }
  const answer = async (request: Request): Promise<Response> => {
    const root = rootOf(new URL(request.url).pathname)
    const listening = root === 'api' ? 'console' : root
    const address = request.headers.get(LISTENING) ?? addresses.now[listening]
    try {
      const app = await load(root)
      if (request.headers.has(HEAD_ONLY)) return (await app.admit?.(request)) ?? new Response(null, { status: ADMITTED })
      return await addresses.during(listening, address, () => app.handle(request))
    } catch (bug) {
      if (bug instanceof PeopleAway) {
        noticeAway(log, bug.message)
        return root === 'api' ? failed(peopleAway()) : away()
      }
      log.alarm('a page failed by a bug', describeBug(bug))
      return refuse(500, 'Something went wrong on our side; try again')
    }
  }
  const server = asOwnSocket(path, (first) =>
    Bun.serve({
      unix: first,
      fetch(request, own) {
        // There is no time limit, since a feed is silent for as long as nothing happens.
        own.timeout(request, 0)
        return answer(request)
      },
    }),
  )
  return {
    async close() {
      await server.stop(true)
      rmSync(path, { force: true })
    },
  }
}
