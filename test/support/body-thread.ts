/** The threads for heavy bodies, from its own file. */

import type { BodyQueueOptions } from '../../src/relay/body-queue.ts'
import { BodyReader } from '../../src/relay/body-reader.ts'

export const startBodyThread = (): Worker => new Worker(new URL('../../src/relay/body-thread.ts', import.meta.url))

/** A reader whose threads start with the first body; `faults` are those that an operator would see. */
export function makeBodyReader(options: Partial<BodyQueueOptions> = {}): { bodyReader: BodyReader; faults: string[] } {
  const faults: string[] = []
  return { bodyReader: new BodyReader({ startThread: startBodyThread, onFault: (fault) => faults.push(fault), ...options }), faults }
}
