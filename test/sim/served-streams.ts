/** The streams of the product's answers: the simulation opens them and takes their bytes, as Bun's server does otherwise. Rules: platform.md "Bun's server". */

export type DirectSource = Readonly<{ type: 'direct'; pull(controller: unknown): void; cancel(): void }>

export class ServedStreams {
  readonly #sources = new WeakMap<ReadableStream, DirectSource>()
  readonly restore: () => void

  /** Takes the process's class of streams over until `restore`. */
  constructor() {
    const { ReadableStream: Real } = globalThis
    const sources = this.#sources
    const Served = new Proxy(Real, {
      construct(_, args: ConstructorParameters<typeof Real>) {
        const [source] = args
        const stream: ReadableStream = isDirect(source) ? new Real() : new Real(...args)
        if (isDirect(source)) sources.set(stream, source)
        return stream
      },
    })
    Object.assign(globalThis, { ReadableStream: Served })
    this.restore = () => {
      Object.assign(globalThis, { ReadableStream: Real })
    }
  }

  /** Of the body of an answer. Undefined: the answer is in one piece. */
  sourceOf(body: ReadableStream | null): DirectSource | undefined {
    return body === null ? undefined : this.#sources.get(body)
  }
}

const isDirect = (source: unknown): source is DirectSource =>
  typeof source === 'object' && source !== null && 'type' in source && source.type === 'direct'
