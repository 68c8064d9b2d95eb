/** A mail reaches its one receiver as plain text; nothing that stands in it can add a receiver or a field, and a server that fails is a word. Rules: pages.md "Mail". */

import { afterEach, expect, test } from 'bun:test'
import { Mailer } from '../../src/people/mail.ts'
import { startWatch } from '../support/until.ts'
import { type SmtpServer, startSmtp } from './smtp-server.ts'

const FROM = 'Gateway <gateway@example.com>'
let server: SmtpServer | undefined
let mailer: Mailer | undefined
afterEach(() => {
  mailer?.close()
  server?.stop()
})

function start(...answer: Parameters<typeof startSmtp>): { server: SmtpServer; mailer: Mailer } {
  server = startSmtp(...answer)
  mailer = new Mailer({ url: server.url, from: FROM, timeoutMs: 300 })
  return { server, mailer }
}

test('a mail arrives once, from whom and to whom it was sent, over one connection for several', async () => {
  const { server, mailer } = start()
  for (const subject of ['Balance below 10 USD', 'Größe'])
    expect(await mailer.send({ to: 'ann@example.com', subject, text: 'One line.\n.\nEnd.' })).toBeNull()
  expect(server.connections()).toBe(1)
  expect(server.letters).toHaveLength(2)
  const [letter] = server.letters
  expect(letter).toMatchObject({ from: 'gateway@example.com', to: ['ann@example.com'] })
  expect(letter?.text).toContain('Subject: Balance below 10 USD\n')
  expect(letter?.text).toContain('From: Gateway <gateway@example.com>\n')
  expect(letter?.text).toMatch(/Content-Type: text\/plain/)
})

test('line breaks in a subject or an address add neither a field nor a receiver', async () => {
  const { server, mailer } = start()
  await mailer.send({ to: 'ann@example.com', subject: 'x\r\nBcc: evil@example.com\r\n\r\nbody', text: 'text' })
  await mailer.send({ to: 'ann@example.com\r\nRCPT TO:<evil@example.com>', subject: 'x', text: 'text' })
  await mailer.send({ to: 'ann@example.com, evil@example.com', subject: 'x', text: 'text' })
  expect(server.letters.length).toBeGreaterThan(0)
  for (const { to, text } of server.letters) {
    expect(to).toHaveLength(1)
    expect(to).not.toContain('evil@example.com')
    expect(text).not.toMatch(/^Bcc:/im)
  }
})

test('a refusal, a server that is gone and one that says nothing are words, and the next mail is tried all the same', async () => {
  let isRefusing = true
  const { server, mailer } = start((command) => (isRefusing && command.startsWith('RCPT') ? '550 5.1.1 <secret text>' : undefined))
  const mail = { to: 'ann@example.com', subject: 'x', text: 'text' }
  expect(await mailer.send(mail)).toBe('smtp 550')
  isRefusing = false
  expect(await mailer.send(mail)).toBeNull()
  const url = server.url
  server.stop()
  expect(await new Mailer({ url, from: FROM, timeoutMs: 300 }).send(mail)).toMatch(/^[a-z]{1,30}$/)
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  using watch = startWatch()
  expect(await new Mailer({ url: `smtp://127.0.0.1:${silent.port}`, from: FROM, timeoutMs: 200 }).send(mail)).toBe('etimedout')
  expect(watch.ms()).toBeLessThan(2_000)
  silent.stop(true)
})

test('where nodemailer did not load, the next mail loads it again, once for all that come together', async () => {
  server = startSmtp()
  let loads = 0
  mailer = new Mailer({
    url: server.url,
    from: FROM,
    timeoutMs: 300,
    load: async () => {
      if (++loads === 1) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
      return await import('nodemailer')
    },
  })
  const mail = { to: 'ann@example.com', subject: 'x', text: 'text' }
  const { send } = { send: mailer.send.bind(mailer) }
  expect(await Promise.all([send(mail), send(mail)])).toEqual(['emfile', 'emfile'])
  expect(await Promise.all([send(mail), send(mail)])).toEqual([null, null])
  expect([loads, server.letters.length]).toEqual([2, 2])
})

test('a server that does not answer holds so many mails at most in memory', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  mailer = new Mailer({ url: `smtp://127.0.0.1:${silent.port}`, from: FROM, timeoutMs: 300 })
  const { send } = { send: mailer.send.bind(mailer) }
  const held = Array.from({ length: 500 }, () => send({ to: 'ann@example.com', subject: 'x', text: 'y' }))
  expect(await send({ to: 'ann@example.com', subject: 'x', text: 'y' })).toBe('too many')
  expect(held).toHaveLength(500)
  silent.stop(true)
})
