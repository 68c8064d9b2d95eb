/** What `tollgate doctor` learns of the cabinet's bot by asking Telegram: its name, a token that is wrong, a network that is dead; never the token. Rules: operator.md "Commands"; pages.md "Telegram". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { telegramFindings } from '../../src/cli/doctor-telegram.ts'
import type { Config } from '../../src/config/config.ts'
import { BOT_NAME, BOT_TOKEN, FakeTelegram } from '../support/fake-telegram.ts'

let telegram: FakeTelegram
beforeEach(() => {
  telegram = new FakeTelegram()
})
afterEach(() => telegram.stop())

const findings = (token: string | undefined) =>
  telegramFindings({ cabinet: { telegram: token === undefined ? undefined : { token } } } as Config, telegram.address.apiRoot)

test('no bot is no finding; a bot is named', async () => {
  expect(await findings(undefined)).toEqual([])
  expect(await findings(BOT_TOKEN)).toEqual([{ check: 'telegram', status: 'ok', detail: `the bot is @${BOT_NAME}` }])
})

test('a wrong token is a problem; a network that is dead is a warning', async () => {
  const [wrong] = await findings('123456789:wrong')
  expect(wrong).toMatchObject({ check: 'telegram', status: 'problem' })
  await telegram.die()
  const [dead] = await findings(BOT_TOKEN)
  expect(dead).toMatchObject({ check: 'telegram', status: 'warning', detail: expect.stringContaining('cannot be reached') })
  for (const one of [wrong, dead]) expect(JSON.stringify(one)).not.toContain(BOT_TOKEN.slice(10))
})
