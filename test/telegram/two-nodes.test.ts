/** Of several processes one asks Telegram, and the others take over from it: nothing is answered by two, nothing by none. Rules: pages.md "Telegram"; processes.md "Once". */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { People } from '../../src/people/people.ts'
import { type Bot, startBot } from '../../src/telegram/bot.ts'
import { UpdateStore } from '../../src/telegram/update-store.ts'
import { BOT_TOKEN, FakeTelegram } from '../support/fake-telegram.ts'
import { PeopleWorld } from '../support/people.ts'
import { peopleOnPostgres } from '../support/people-place.ts'
import { postgresSuite, postgresTest } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const ANN = 7_001

let world: PeopleWorld
let telegram: FakeTelegram
let others: People[]
let bots: Bot[]
let alarms: string[]

const begin = (): void => {
  world = new PeopleWorld()
  telegram = new FakeTelegram()
  others = []
  bots = []
  alarms = []
}
async function end(): Promise<void> {
  for (const bot of bots) await bot.close()
  for (const people of others) await people.close()
  await telegram.stop()
  await world.remove()
}

/** A process of its own, which answers with its name. */
function start(name: string): Bot {
  const people = world.open()
  others.push(people)
  const bot = startBot({
    sql: people.db,
    token: BOT_TOKEN,
    ...telegram.address,
    commands: [],
    now: Date.now,
    monotonicMs: () => performance.now(),
    answer: async ({ incoming }, { api }) => {
      await api.send(incoming.chat, { text: `${name} ${incoming.kind === 'text' ? incoming.text : ''}` })
      return { done: true, question: null }
    },
    onUpdate: () => undefined,
    log: { alarm: (what) => void alarms.push(what), notice: () => undefined },
  })
  bots.push(bot)
  return bot
}

const storeOf = (people: People, bot = 1): UpdateStore => new UpdateStore(people.db, bot, Date.now)
const text = (number: number) => ({ number, incoming: { chat: ANN, name: 'Ann', kind: 'text' as const, text: String(number) } })

function guarantees(it: (name: string, work: () => Promise<void>) => void): void {
  it('of two processes one has the claim, and what the other takes is not written', async () => {
    const [one, other] = [world.people, world.open()]
    others.push(other)
    const [a, b] = [storeOf(one), storeOf(other)]
    expect(await a.claim()).toEqual({ next: 0, name: '' })
    expect(await b.claim()).toBeUndefined()
    expect(await b.take([text(5)], 6)).toBeUndefined()
    expect(await a.take([text(5), text(7)], 8)).toMatchObject([{ number: 5 }, { number: 7 }])
    expect(await a.claim()).toEqual({ next: 8, name: '' })
    // A day and an hour later no number is asked for.
    await one.db.run('UPDATE telegram_bots SET taken_at = $long', { long: Date.now() - 26 * 3_600_000 })
    expect(await a.claim()).toEqual({ next: 0, name: '' })
    // Twice is once.
    expect(await a.take([text(7), text(8)], 9)).toMatchObject([{ number: 8 }])
    await a.release()
    expect(await b.claim()).toEqual({ next: 9, name: '' })
    expect(await a.take([text(9)], 10)).toBeUndefined()
    expect((await b.waiting()).map(({ number }) => number)).toEqual([5, 7, 8])
    expect(await storeOf(other, 2).waiting()).toEqual([])
  })

  it('a claim that is not renewed ends by itself, and the one that had it learns so', async () => {
    const other = world.open()
    others.push(other)
    const [a, b] = [storeOf(world.people), storeOf(other)]
    await a.claim()
    await world.people.db.run('UPDATE telegram_bots SET claimed_until = 1')
    expect(await b.claim()).toBeDefined()
    expect(await a.claim()).toBeUndefined()
    expect(await a.take([text(5)], 6)).toBeUndefined()
  })

  it('many who claim at once get it once', async () => {
    const stores = [world.people, world.open(), world.open()].flatMap((people) => [storeOf(people), storeOf(people)])
    const claims = await Promise.all(stores.map((store) => store.claim()))
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1)
  })

  it('two processes never poll at once; each message is answered once, and the second goes on where the first ended', async () => {
    const first = start('first')
    await until(() => telegram.calls.some(({ method }) => method === 'getUpdates'))
    start('second')
    for (let n = 0; n < 5; n++) telegram.write(ANN, `a${n}`)
    await until(() => telegram.messages(ANN).length === 5)
    await first.close()
    for (let n = 0; n < 5; n++) telegram.write(ANN, `b${n}`)
    await until(() => telegram.messages(ANN).length >= 10)
    const expected = [
      'first a0',
      'first a1',
      'first a2',
      'first a3',
      'first a4',
      'second b0',
      'second b1',
      'second b2',
      'second b3',
      'second b4',
    ]
    expect(telegram.messages(ANN).map(({ text: shown }) => shown)).toEqual(expected)
    expect([telegram.conflicts, alarms]).toEqual([0, []])
  })
}

describe('in a file', () => {
  beforeEach(begin)
  afterEach(end)
  guarantees(test)
})

postgresSuite('on Postgres', () => {
  peopleOnPostgres()
  beforeEach(begin)
  afterEach(end)
  guarantees(postgresTest)
})
