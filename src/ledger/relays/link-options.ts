/** What a relay's link to the ledger process asks of the relay, and tells it. Rules: processes.md "Relays", "Death". */

import type { RelayRuns } from '../lease-move.ts'
import type { NodeMessage } from '../nodes.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Followed } from './follow-routes.ts'
import type { connectToHub } from './link-socket.ts'
import type { Welcome } from './messages.ts'
import type { Joining } from './relay-spill.ts'
import type { SentTold } from './sent-bytes.ts'
import type { Held } from './shared-state.ts'

export type LinkOptions = Readonly<{
  path: string
  bootId: string
  /** Returns what this relay holds now. */
  runs: () => RelayRuns
  held: () => Held
  onNews: (message: NodeMessage) => void
  /** Called when clients of another relay wait for a stream that may run here. */
  onFollowed: (followed: Followed) => void
  /** Called when relays have let in bodies of an account. */
  onSent?: (sent: SentTold) => void
  /** Called when the connection is lost: until it is there again, changes of other processes are not heard of. */
  onMissed: () => void
  /** Called when other processes may have what this relay held: this process must end. */
  onFenced: (reason: string) => void
  /** Called when the relay is let in. */
  onWelcome: (welcome: Welcome) => Joining
  /** Called when any message was heard. */
  onHeard: () => void
  onFault: (fault: LedgerFault) => void
  /** How long the first try may take; undefined: as long as it takes. */
  firstMs?: number
  /** Default: over a socket. */
  connect?: typeof connectToHub
}>
