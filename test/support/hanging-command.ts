/** A command that has done its work and leaves behind what would keep the process. Argument: how much it says. */

import { endWith, Output } from '../../src/cli/ending.ts'

const output = new Output(process.stdout)
output.write('x'.repeat(Number(process.argv[2])))
setInterval(() => undefined, 1_000)
endWith(3, [output], 50)
