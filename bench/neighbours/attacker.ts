/** One tenant who sends the attack of `bodies.ts` as fast as it is answered, or does not read the answers: `bun attacker.ts PORT KEY NAME`. Runs until it is ended. */

import { ATTACKS, type Attack } from './bodies.ts'

const [port = '', key = '', name = ''] = process.argv.slice(2)
const attack = ATTACKS[name]?.()
if (attack === undefined) throw new Error(`no ${name}`)
const { path, body, headers = {}, connections, isUnread } = attack

const head = Buffer.from(
  [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${key}`,
    `content-length: ${body.byteLength}`,
    ...Object.entries(headers).map(([field, value]) => `${field}: ${value}`),
    '\r\n',
  ].join('\r\n'),
)

async function ask({ path: to, body: sent }: Attack, n: number): Promise<void> {
  const named = headers['idempotency-key'] === undefined ? {} : { 'idempotency-key': `${headers['idempotency-key']}-${n}-${Date.now()}` }
  const response = await fetch(`http://127.0.0.1:${port}${to}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers, ...named },
    body: sent as Uint8Array<ArrayBuffer>,
  })
  await response.arrayBuffer()
}

async function askAgain(one: Attack, n: number): Promise<never> {
  for (;;) await ask(one, n).catch(() => Bun.sleep(10))
}

/** Sends requests and reads no byte of the answers. */
function standStill(): void {
  Bun.connect({
    hostname: '127.0.0.1',
    port: Number(port),
    socket: {
      open(socket) {
        socket.write(Buffer.concat([head, body]))
        socket.pause()
      },
      data: () => undefined,
    },
  }).catch(() => undefined)
}

for (let n = 0; n < connections; n++) {
  if (isUnread === true) standStill()
  else askAgain(attack, n).catch(() => undefined)
}
setInterval(() => undefined, 1_000)
