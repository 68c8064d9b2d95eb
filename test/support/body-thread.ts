/** The thread that reads large bodies, from its own file. */

import { BodyReader, type BodyReaderOptions } from '../../src/relay/body-reader.ts'

export const startBodyThread = (): Worker => new Worker(new URL('../../src/relay/body-thread.ts', import.meta.url))

/** A reader whose thread starts with the first body; `faults` are those that an operator would see. */
export function makeBodyReader(options: Partial<BodyReaderOptions> = {}): { bodyReader: BodyReader; faults: string[] } {
  const faults: string[] = []
  return { bodyReader: new BodyReader({ startThread: startBodyThread, onFault: (fault) => faults.push(fault), ...options }), faults }
}
