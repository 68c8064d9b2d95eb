/** Finds the call that a piece belongs to: servers number their calls, give them ids, do both or neither, or give all calls the same number. Rules: openai.md "Calls". */

import type { Called } from './chunk.ts'

type Told = Pick<Called, 'index' | 'id' | 'name'>

export class CallPositions {
  readonly #byIndex = new Map<number, number>()
  readonly #byId = new Map<string, number>()
  readonly #ids: (string | undefined)[] = []

  /** How many calls there are. */
  get count(): number {
    return this.#ids.length
  }

  /** The position of the call: calls count from 0, in the order in which they came. */
  positionOf(told: Told): number {
    const { index, id } = told
    const known = this.#known(told)
    const position = known ?? this.#ids.push(id) - 1
    this.#ids[position] ??= id
    if (index !== undefined) this.#byIndex.set(index, position)
    if (id !== undefined) this.#byId.set(id, position)
    return position
  }

  /** The position of a call that came before, else undefined. A piece without index, id and name belongs to the last call. */
  #known({ index, id, name }: Told): number | undefined {
    if (index === undefined) return id === undefined ? this.#last(name) : this.#byId.get(id)
    const numbered = this.#byIndex.get(index)
    const other = numbered === undefined ? undefined : this.#ids[numbered]
    const isAnother = other !== undefined && id !== undefined && id !== other && name !== undefined
    return isAnother ? this.#byId.get(id) : numbered
  }

  #last(name: string | undefined): number | undefined {
    return this.count === 0 || name !== undefined ? undefined : this.count - 1
  }
}
