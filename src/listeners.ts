/**
 * The gateway's addresses: the clients', the operator's, and the operator's socket: all of them or none. Pages hang on the first two and are loaded with the first
 * request for one. Rules: operator.md "Health", "Shutdown", "Upgrade"; pages.md "Mounting".
 */

import type { Server } from 'bun'
import type { AnyElysia } from 'elysia'
import type { Config } from './config/config.ts'
import type { ReloadPreview } from './config/reload-preview.ts'
import type { App } from './http/app.ts'
import { idleSeconds } from './http/connection.ts'
import { operatorApp } from './http/health.ts'
import { connectionsOn, othersOn, ownConnectionsOn } from './http/kernel-sockets.ts'
import { limitSockets } from './http/socket-limits.ts'
import { preparedToStopAccepting } from './http/stop-accepting.ts'
import { stripeWebhook } from './http/stripe-webhook.ts'
import { describeBug } from './observe/bug.ts'
import { joinSiblings } from './operator/join-siblings.ts'
import type { Moment } from './operator/moment.ts'
import type { Payments } from './payments/payments.ts'
import type { UpstreamPool } from './upstream/pool.ts'
import { mountPages, type Pages } from './web/mount.ts'
import { mountApi } from './web/mount-api.ts'
import type { World } from './world.ts'

export type ListenProblem = Readonly<{ problem: 'listen'; message: string }>

export type Listeners = Readonly<{
  url: string
  operatorUrl: string
  /** Hands the limits of clients' sockets to the kernel, for connections that come from now on. */
  limitSockets(): boolean
  /** The number of open connections of clients; undefined where the kernel does not tell. */
  connections(): Promise<number | undefined>
  /** Whether a process of another set listens on the clients' port. */
  hasSuccessor(): Promise<boolean>
  /**
   * Takes no new connection and breaks none, where other processes listen on the clients' port as well; the operator's listener does the same if other processes
   * listen on its port. False: no other process listens, which is known within the same turn of the loop, or the system has no means.
   */
  stopAccepting(): Promise<boolean>
  /** Takes no new connection and breaks none, where no other process takes over: a new connection is refused before it can send anything. */
  leave(): Promise<boolean>
  /** Takes no new connection; resolves when the last has ended. The operator's listener stays, so that `/readyz` can say that the gateway drains. */
  stop(): Promise<void>
  /** Breaks whatever connection is left. */
  close(): Promise<void>
}>

/** The apps of the listeners. `pages`: loads the apps below `/cabinet`, `/console` and `/api`. */
type Answering = Readonly<{
  app: App
  pages: Readonly<{ cabinet: () => Promise<Pages>; console: () => Promise<Pages>; api: () => Promise<Pages> }>
  /** Undefined: no payments are set up. The webhook of payments is on the clients' listener. */
  payments: Payments | undefined
  upstreams: UpstreamPool
  /** What a reload would change, for commands. */
  previewReload: () => ReloadPreview
  moment: () => Moment
}>

/** `host`, `port`: overrides of the configuration. `isShared`: other processes may listen on the same ports. `siblings`: how many of them belong to the same set. */
type ListenOptions = Readonly<{ config: Config; host: string | undefined; port: number | undefined; isShared: boolean; siblings: number }>

export async function listen(
  place: ListenOptions,
  world: World,
  { app, pages, payments, upstreams, previewReload, moment }: Answering,
): Promise<Listeners | ListenProblem> {
  const { config, host = config.server.host, port = config.server.port, isShared, siblings } = place
  const common = { idleTimeout: idleSeconds(config.limits.idleMs), reusePort: isShared }
  const opened: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((one) => one.close()))
  }
  try {
    // The operator's listener opens before the clients', so that their first call asks no upstream that is taken out.
    const operator = await listenAsOperator(config, world, { upstreams, previewReload, moment, pages, isShared }, opened)
    if (payments !== undefined) app.use(stripeWebhook(world, payments))
    const main = await listenWith(app.use(mountPages(world, '/cabinet', pages.cabinet)), { ...common, hostname: host, port })
    opened.push({ close: () => main.stop(true) })
    const [mainPort, operatorPort] = [main.port ?? 0, operator.port ?? 0]
    const [stopMain, stopOperator] = isShared ? [preparedToStopAccepting(mainPort), preparedToStopAccepting(operatorPort)] : []
    return {
      url: urlOf(main),
      operatorUrl: urlOf(operator),
      connections: () => (isShared ? ownConnectionsOn(mainPort) : connectionsOn(mainPort)),
      hasSuccessor: async () => isShared && (await othersOn(mainPort)) > siblings,
      stopAccepting: async () => {
        if (stopMain === undefined || (await othersOn(mainPort)) === 0) return false
        if ((await othersOn(operatorPort)) > 0) await stopOperator?.({ isAlone: false })
        return await stopMain({ isAlone: false })
      },
      // Prepared only now, since connections that come in during the preparation are still answered.
      leave: () => preparedToStopAccepting(mainPort)({ isAlone: true }),
      limitSockets: () => limitSockets(mainPort, world.limits().writeStallMs),
      stop: () => main.stop(),
      close,
    }
  } catch (error) {
    await close()
    return { problem: 'listen', message: error instanceof Error ? error.message : String(error) }
  }
}

/** `moment`: undefined where no other process asks for it. */
type OperatorSide = Readonly<{
  upstreams: UpstreamPool
  previewReload: () => ReloadPreview
  moment?: () => Moment
  pages: Pick<Answering['pages'], 'console' | 'api'>
  isShared: boolean
}>

/** Opens the operator's socket and listener. Each that is opened goes to `opened`, also where the other cannot be opened. */
async function listenAsOperator(
  config: Config,
  world: World,
  { upstreams, previewReload, moment, pages, isShared }: OperatorSide,
  opened: { close(): Promise<void> }[],
): Promise<Server<unknown>> {
  const onBug = (bug: unknown): void => world.log.alarm('an operation failed by a bug', describeBug(bug))
  const { node } = { node: undefined, ...config.ledger }
  const socket = await joinSiblings(config.ledger, world.ledger, { upstreams, previewReload, moment, node, log: world.log, onBug })
  opened.push({ close: async () => socket.close() })
  const { host: hostname, port } = config.operator
  const app = operatorApp(world)
    .use(mountPages(world, '/console', pages.console))
    .use(mountApi(world, pages.api))
  const operator = await listenWith(app, { hostname, port, idleTimeout: idleSeconds(config.limits.idleMs), reusePort: isShared })
  opened.push({ close: () => operator.stop(true) })
  return operator
}

type OperatorListeners = Readonly<{ operatorUrl: string; close(): Promise<void> }>

/** Opens the operator's listener of a process that answers no clients. */
export async function listenForOperators(
  config: Config,
  world: World,
  side: Omit<OperatorSide, 'isShared'>,
): Promise<OperatorListeners | ListenProblem> {
  const opened: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((one) => one.close()))
  }
  try {
    return { operatorUrl: urlOf(await listenAsOperator(config, world, { ...side, isShared: false }, opened)), close }
  } catch (error) {
    await close()
    return { problem: 'listen', message: error instanceof Error ? error.message : String(error) }
  }
}

/** Above every limit of ours, so that a body that is too large gets our error as the contract words it: Bun's own 413 is empty. */
const SERVER_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER

const urlOf = ({ hostname = '', port }: Server<unknown>): string => `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`

type Address = Readonly<{ hostname: string; port: number; idleTimeout: number; reusePort: boolean }>

function listenWith(app: AnyElysia, address: Address): Promise<Server<unknown>> {
  return new Promise((resolve, reject) => {
    try {
      app.listen({ ...address, maxRequestBodySize: SERVER_BODY_BYTES_MAX, development: false }, (server) =>
        resolve(server as Server<unknown>),
      )
    } catch (error) {
      reject(error instanceof Error ? error : new Error(String(error), { cause: error }))
    }
  })
}
