/** A process as `serve --processes` begins it, with no gateway in it: listens on a shared port, notes each order, and does what is asked over HTTP. Arguments: its number, a port, a file for notes. */

import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { obeyParent } from '../../src/cli/process-commands.ts'
import { askOfParent, listeningLine, tellCutOff, tellStep } from '../../src/cli/steps.ts'

const [index = '', port = '0', notes = ''] = process.argv.slice(2)
const note = (words: string): void => appendFileSync(notes, `${index} ${words}\n`)
note('began')
if (existsSync(`${notes}.cannot-begin-${index}`)) process.exit(3)
if (existsSync(`${notes}.slow-${index}`)) {
  for (let step = 0; step < 12; step++) {
    tellStep(`step ${step}`)
    await Bun.sleep(300)
  }
}
if (existsSync(`${notes}.hangs-${index}`)) {
  tellStep('the lane')
  // Whoever begins it anew has more luck, unless it is to hang for ever.
  if (!existsSync(`${notes}.hangs-on`)) rmSync(`${notes}.hangs-${index}`)
  for (;;) Bun.sleepSync(1_000)
}
// The leader is told by a file whom to cut off.
const cutting = setInterval(() => {
  if (index !== '0' || !existsSync(`${notes}.cuts-off`)) return
  const pids = readFileSync(`${notes}.cuts-off`, 'utf8').split('\n')
  rmSync(`${notes}.cuts-off`)
  for (const pid of pids) tellCutOff(Number(pid))
}, 20)
const close = obeyParent({
  drain() {
    note('drain')
    // One whose streams run on.
    if (!existsSync(`${notes}.streams`)) process.nextTick(end, 0)
  },
  hurry() {
    note('hurry')
    end(0)
  },
  reload: (lineAt) => note(lineAt === undefined ? 'reload' : `reload, line of ${lineAt}`),
})
function end(code: number): void {
  close()
  clearInterval(cutting)
  server.stop(true)
  process.exitCode = code
}
// Whoever answers already obeys: a signal would otherwise end it with the signal's code.
const server = Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  reusePort: true,
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/die') process.exit(9)
    if (pathname === '/reload') askOfParent('reloadWithLine')
    return new Response(`${index} ${process.pid}`, { headers: { connection: 'close' } })
  },
})
process.stdout.write(listeningLine(`http://127.0.0.1:${server.port}`))
