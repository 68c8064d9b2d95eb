/** Protects operator.md "Commands": a process that has done its work ends with its code, whatever it left behind, and loses nothing of what it said. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'

const PROGRAM = join(import.meta.dir, '../support/hanging-command.ts')
/** More than any pipe takes. */
const LENGTH = 5_000_000

test('what would keep it does not, and a slow reader gets all of it', async () => {
  const quiet = Bun.spawn([process.execPath, PROGRAM, '1'])
  expect(await quiet.exited).toBe(3)
  // Its reader sleeps longer than it lingers.
  const piped = Bun.spawn(
    ['sh', '-c', '( "$0" "$1" "$2"; echo "code $?" >&2 ) | ( sleep 1; wc -c )', process.execPath, PROGRAM, `${LENGTH}`],
    {
      stderr: 'pipe',
    },
  )
  expect((await new Response(piped.stdout).text()).trim()).toBe(`${LENGTH}`)
  expect((await new Response(piped.stderr).text()).trim()).toBe('code 3')
})
