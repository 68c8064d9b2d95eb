/** Protects nodes.md "Notifications": what a node heard, it knows up to when, and silence is noticed wherever it comes from. */

import { expect } from 'bun:test'
import type { NodeMessage } from '../../../src/ledger/nodes.ts'
import { CHANNEL, encodeMessage } from '../../../src/ledger/postgres/messages.ts'
import { NotificationListener } from '../../../src/ledger/postgres/notification-listener.ts'
import { asking, throughPort } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { tcpProxy } from '../../support/tcp-proxy.ts'
import { startWatch, until } from '../../support/until.ts'

function hear(url: string, patienceMs = 20_000) {
  const told = { messages: [] as NodeMessage[], missed: 0, bugs: [] as unknown[] }
  const notifications = new NotificationListener({
    url,
    name: 'notifications',
    onMessage: (message) => void told.messages.push(message),
    onMissed: () => void told.missed++,
    onBug: (bug) => void told.bugs.push(bug),
    echoMs: 100,
    patienceMs,
  })
  notifications.begin()
  return { notifications, told }
}

const CREDIT: NodeMessage = { kind: 'credit', lane: 7, accountId: 'acc_1' }
const say = (speaker: ReturnType<typeof asking>, message: NodeMessage = CREDIT) =>
  speaker.ask('SELECT pg_notify($1, $2)', [CHANNEL, encodeMessage(message)])
const isListening =
  ({ notifications }: ReturnType<typeof hear>) =>
  (): boolean =>
    !notifications.isStale()

postgresTest('what is said is heard, and what was read while listening stays current for as long as nothing is missed', async () => {
  const url = await postgres().createDatabase()
  const speaker = asking(url)
  const heard = hear(url)
  expect(heard.notifications.isStale()).toBe(true)
  await until(isListening(heard), 'it listens')
  const readAtMs = performance.now()
  await say(speaker)
  await until(() => heard.told.messages.length > 0, 'the message')
  expect(heard.told.messages).toEqual([CREDIT])
  await speaker.ask('SELECT pg_notify($1, $2)', [CHANNEL, 'something else'])
  await Bun.sleep(1_500)
  await until(() => heard.notifications.isCurrent(readAtMs))
  expect(heard.told).toEqual({ messages: [CREDIT], missed: 1, bugs: [] })
  heard.notifications.close()
  await speaker.close()
})

postgresTest('before it listens, what was read counts for a second and no longer', () => {
  let nowMs = 5_000
  const notifications = new NotificationListener({
    url: 'postgres://nobody@127.0.0.1:1/none',
    name: 'x',
    onMessage: () => undefined,
    onMissed: () => undefined,
    onBug: () => undefined,
    monotonicMs: () => nowMs,
  })
  expect(notifications.isCurrent(5_000)).toBe(true)
  nowMs = 5_999
  expect(notifications.isCurrent(5_000)).toBe(true)
  nowMs = 6_000
  expect(notifications.isCurrent(5_000)).toBe(false)
})

postgresTest(
  'a way that leads nowhere is noticed at once; when there is one again, all that was read before counts as missed',
  async () => {
    const url = await postgres().createDatabase()
    const proxy = await tcpProxy(postgres().port)
    const speaker = asking(url)
    const patienceMs = 2_000
    const heard = hear(throughPort(url, proxy.port), patienceMs)
    await until(isListening(heard), 'it listens')
    const readAtMs = performance.now()
    await Bun.sleep(1_100)
    await until(() => heard.notifications.isCurrent(readAtMs))
    proxy.part()
    using watch = startWatch()
    await until(() => heard.notifications.isStale(), 'it is stale')
    expect(watch.ms()).toBeLessThan(400)
    await until(() => !heard.notifications.isCurrent(readAtMs), 'what was read is not current')
    expect(watch.ms()).toBeLessThan(1_100)
    await say(speaker)
    await Bun.sleep(patienceMs)
    proxy.heal()
    await until(isListening(heard), 'it listens again')
    expect(heard.told.missed).toBeGreaterThan(1)
    expect(heard.notifications.isCurrent(readAtMs)).toBe(false)
    const againMs = performance.now()
    await say(speaker)
    await until(() => heard.told.messages.length > 0, 'the next message')
    await Bun.sleep(1_100)
    await until(() => heard.notifications.isCurrent(againMs))
    heard.notifications.close()
    proxy.close()
    await speaker.close()
  },
)

postgresTest('a connection that Postgres ends is made anew, and Postgres that stops and comes back is heard again', async () => {
  const url = await postgres().createDatabase()
  const heard = hear(url)
  await until(isListening(heard), 'it listens')
  const other = asking(url)
  const before = heard.told.missed
  await other.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'notifications'")
  await until(() => heard.told.missed > before, 'it listens again')
  await until(isListening(heard), 'it listens again')
  await say(other)
  await until(() => heard.told.messages.length > 0, 'the message')
  await other.close()
  await postgres().stop('immediate')
  await until(() => heard.notifications.isStale(), 'it is stale')
  await postgres().start()
  await until(isListening(heard), 'it listens again')
  const third = asking(url)
  heard.told.messages.length = 0
  await say(third)
  await until(() => heard.told.messages.length > 0, 'the message')
  expect(heard.told.bugs).toEqual([])
  heard.notifications.close()
  await third.close()
})
