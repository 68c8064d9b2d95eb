/**
 * The thread of the people: it has the only connection of the process to their file, so that no request waits for its lock or its disk. This is a Worker's own file: the
 * thread starts when the file is loaded. Rules: pages.md "People".
 */

import { parentPort } from 'node:worker_threads'
import { PeopleConnection } from './people-connection.ts'
import { PeopleAway, type SqlResult } from './people-sql.ts'
import { type FromPeopleThread, type PeopleFault, Progress, type ToPeopleThread } from './task.ts'

const NOTHING: SqlResult = { rows: [], changes: 0 }

type Opened = Readonly<{ connection: PeopleConnection; progress: Progress }>

function obey({ connection, progress }: Opened, message: Exclude<ToPeopleThread, { kind: 'open' }>): SqlResult {
  switch (message.kind) {
    case 'ask':
      if (!(progress.begin(message.number) || message.isInside)) throw new PeopleAway('others have it for too long')
      return connection.ask(message.text, message.given, message.isInside)
    case 'rollBack':
      connection.rollBack()
      return NOTHING
    case 'close':
      connection.close()
      return NOTHING
  }
}

function faultOf(error: unknown): PeopleFault {
  const { name, message, stack = '', code, errno } = error as Error & { code?: unknown; errno?: unknown }
  return {
    ...{ isAway: error instanceof PeopleAway, name, message, stack },
    ...{ code: typeof code === 'string' ? code : null, errno: typeof errno === 'number' ? errno : null },
  }
}

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the thread of the people runs in a Worker only')
  const say = (message: FromPeopleThread): void => port.postMessage(message)
  let opened: Opened | undefined
  port.on('message', (message: ToPeopleThread) => {
    if (message.kind === 'open') {
      opened = { connection: new PeopleConnection(message.path), progress: new Progress(message.progress) }
      return
    }
    if (opened === undefined) throw new Error('the thread of the people knows no file')
    const { number } = message
    try {
      say({ kind: 'answered', number, result: obey(opened, message) })
    } catch (error) {
      say({ kind: 'failed', number, fault: faultOf(error) })
    }
  })
}

run()
