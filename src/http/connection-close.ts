/**
 * While the process leaves, every answer carries `Connection: close`, so that the client's next request opens a connection to another process. Rules: operator.md
 * "Shutdown"; https://www.rfc-editor.org/rfc/rfc9112#section-9.6.
 */

import { Elysia } from 'elysia'
import type { World } from '../world.ts'

export const connectionClose = ({ isLeaving }: Pick<World, 'isLeaving'>) =>
  new Elysia({ name: 'connection-close' }).wrap(
    (answer) => (request: Request) => (isLeaving() ? closing(answer(request)) : answer(request)),
  )

async function closing(answer: unknown): Promise<unknown> {
  const response = await answer
  if (response instanceof Response) response.headers.set('connection', 'close')
  return response
}
