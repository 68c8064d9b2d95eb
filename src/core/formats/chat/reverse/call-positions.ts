/** Which call a piece belongs to: servers number calls, name them by an id, do both, neither, or give all of them one number. Rules: openai.md "Calls". */

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

  /** From 0 on, in the order in which they were told. */
  positionOf(told: Told): number {
    const { index, id } = told
    const known = this.#known(told)
    const position = known ?? this.#ids.push(id) - 1
    this.#ids[position] ??= id
    if (index !== undefined) this.#byIndex.set(index, position)
    if (id !== undefined) this.#byId.set(id, position)
    return position
  }

  /** A piece that says nothing of its call goes on with the last one. */
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
