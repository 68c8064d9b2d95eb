/**
 * How long a test may take: the same for one file as in the whole check, on a busy machine as on a quiet one, since the limit only ends what hangs. Runs before every
 * test file.
 */

import { setDefaultTimeout } from 'bun:test'

setDefaultTimeout(180_000)
