/**
 * Directives that every request obeys, set while the simulator runs, so that an upstream can be made to fail, and to recover, under load:
 * `PUT /faults` with directives as text, `GET /faults`, `DELETE /faults`. Rules: faults.md "Simulator".
 */

import { type Directive, findDirectives } from './directives.ts'
import { readInstructions } from './instructions.ts'

const LENGTH_MAX = 4_096

export class StandingFaults {
  #text = ''
  #directives: readonly Directive[] = []

  get directives(): readonly Directive[] {
    return this.#directives
  }

  /** The answer to a request at `/faults`: the directives that stand now, as text. */
  async answer(request: Request): Promise<Response> {
    switch (request.method) {
      case 'GET':
        return this.#show(200)
      case 'DELETE':
        return this.#set('')
      case 'PUT':
        return this.#set((await request.text()).trim())
      default:
        return new Response('GET, PUT or DELETE\n', { status: 405, headers: { allow: 'GET, PUT, DELETE' } })
    }
  }

  #set(text: string): Response {
    const { directives, rest } = findDirectives(text)
    const { unknown } = readInstructions(directives)
    const wrong =
      text.length > LENGTH_MAX ? `more than ${LENGTH_MAX} characters` : [...unknown, rest].filter((part) => part !== '').join(' ')
    if (wrong !== '') return new Response(`not understood: ${wrong}\n`, { status: 400 })
    this.#text = text
    this.#directives = directives
    return this.#show(200)
  }

  #show = (status: number): Response => new Response(this.#text === '' ? 'none\n' : `${this.#text}\n`, { status })
}
