/** A connection between a relay and the ledger process in a simulated world: what is on it arrives when the seed says so, or never. Rules: processes.md "Relays", "Death". */

import type { Connection } from '../../src/ledger/relays/hub-socket.ts'
import type { FromHub, ToHub } from '../../src/ledger/relays/messages.ts'
import type { Random } from '../support/seed.ts'

type Ends = Readonly<{
  hearInHub: (message: ToHub, connection: Connection) => void
  hearInRelay: (message: FromHub) => void
  onClosedInHub: (connection: Connection) => void
  onClosedInRelay: () => void
  /** Whether the ledger process stands still: what it has said arrives, and what it is told waits. */
  isHubFrozen: () => boolean
  /** Whether the relay stands still, so that nothing comes or goes. */
  isFrozen: () => boolean
}>

export class Wire {
  readonly connection: Connection
  readonly #ends: Ends
  readonly #toHub: ToHub[] = []
  readonly #toRelay: FromHub[] = []
  /** The ends that have not heard yet that the wire is closed, the relay's first. */
  readonly #unheard: (() => void)[]
  /** left: the relay's side is closed, and what it had sent still arrives · cut: what is on it is lost. */
  #state: 'open' | 'left' | 'cut' = 'open'

  constructor(pid: number, ends: Ends) {
    this.#ends = ends
    this.connection = {
      ...{ pid, unsentBytes: 0, close: () => this.cut() },
      send: (message) => {
        if (this.#state === 'open') this.#toRelay.push(structuredClone(message))
      },
    }
    this.#unheard = [ends.onClosedInRelay, () => ends.onClosedInHub(this.connection)]
  }

  get isCut(): boolean {
    return this.#state === 'cut'
  }

  get isOver(): boolean {
    return this.isCut && this.#unheard.length === 0
  }

  get isBusy(): boolean {
    const { isFrozen, isHubFrozen } = this.#ends
    if (isFrozen()) return false
    if (this.isCut) return this.#unheard.length > 0
    if (this.#state === 'left') return this.#isUnheardByRelay || !isHubFrozen()
    return this.#toRelay.length > 0 || (this.#toHub.length > 0 && !isHubFrozen())
  }

  send(message: ToHub): void {
    if (this.#state === 'open') this.#toHub.push(structuredClone(message))
  }

  /** The relay closes it, or dies. */
  leave(): void {
    if (this.#state === 'open') this.#state = 'left'
    this.#toRelay.length = 0
  }

  cut(): void {
    this.#state = 'cut'
    this.#toHub.length = 0
    this.#toRelay.length = 0
  }

  deliver(random: Random): void {
    if (this.isCut || (this.#state === 'left' && this.#isUnheardByRelay)) {
      this.#unheard.shift()?.()
      return
    }
    const { hearInHub, hearInRelay, isHubFrozen } = this.#ends
    const toHub = isHubFrozen() ? [] : this.#toHub
    const [first, second] = random() < 0.5 ? [toHub, this.#toRelay] : [this.#toRelay, toHub]
    const message = first.shift() ?? second.shift()
    if (message === undefined) {
      if (this.#state === 'left') this.cut()
      return
    }
    if (isToHub(message)) hearInHub(message, this.connection)
    else hearInRelay(message)
  }

  get #isUnheardByRelay(): boolean {
    return this.#unheard.length > 1
  }
}

const TO_HUB = new Set(['hello', 'tasks', 'ping', 'question', 'word', 'leave'])
const isToHub = (message: ToHub | FromHub): message is ToHub => TO_HUB.has(message.kind)
