/** A file of lines that is written as it is taken, a piece in a turn of the loop. Rules: pages.md "Explore". */

import { nextTurn } from '../../ledger/reading/loop-turns.ts'

/** A client that takes the file more slowly does not get all of it: the rows are in memory until then. */
const FILE_MS_MAX = 10 * 60_000

export type FileOptions = Readonly<{
  /** Called once, when the rows are needed no more. */
  onEnd: () => void
  turn?: () => Promise<void>
}>

/** `pieces`: each is some lines, made when it is taken. */
export function csvFile(pieces: Iterator<string, void>, { onEnd, turn = nextTurn }: FileOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let left: Iterator<string, void> | undefined = pieces
  let late: ReturnType<typeof setTimeout> | undefined
  const end = (): void => {
    clearTimeout(late)
    left = undefined
    onEnd()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        late = setTimeout(() => {
          controller.error(new Error('the file was taken too slowly'))
          end()
        }, FILE_MS_MAX)
        late.unref()
      },
      async pull(controller) {
        await turn()
        if (left === undefined) return
        const { done, value } = left.next()
        if (!done) return controller.enqueue(encoder.encode(value))
        controller.close()
        end()
      },
      cancel: () => {
        if (left !== undefined) end()
      },
    },
    { highWaterMark: 0 },
  )
}
