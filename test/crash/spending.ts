/** Clients that spend a balance through several gateways until it is used up; those of a gateway that dies go on to the others, as behind a load balancer. */

const MODEL = 'claude-sonnet-5-5'
const TOKENS = 400
const TOKENS_A_SECOND = 270
const BODY = JSON.stringify({
  model: MODEL,
  max_tokens: TOKENS + 50,
  stream: true,
  messages: [{ role: 'user', content: `Hello [sim tokens=${TOKENS} speed=${TOKENS_A_SECOND}]` }],
})
const PAUSE_MS = 100
/** Over which the clients of a gateway begin: then some of its answers are young at any moment, and some nearly done. */
const STAGGER_MS = 1_500
/** What goes away by itself: money that another node holds, a node that is short of its lease. */
const PASSING = new Set([429, 502, 503])

type Asked = 'whole' | 'again' | 'used up'

export class Spending {
  /** Request ids of answers that were seen to their end. */
  readonly whole = new Set<string>()
  /** Answers that were in flight when their gateway died. */
  cut = 0
  readonly #secret: string
  readonly #urls: readonly string[]
  readonly #dead = new Set<string>()
  readonly #inFlight = new Map<string, number>()

  constructor(urls: readonly string[], secret: string) {
    this.#urls = urls
    this.#secret = secret
  }

  /** Until every client is told that the balance is used up. */
  async run(clientsOfEach: number): Promise<void> {
    const client = async (url: string, afterMs: number): Promise<void> => {
      await Bun.sleep(afterMs)
      for (let at = 0; ; ) {
        const living = this.#urls.filter((one) => !this.#dead.has(one))
        const asked = await this.#ask(this.#dead.has(url) ? (living[at++ % living.length] ?? url) : url)
        if (asked === 'used up') return
        if (asked === 'again') await Bun.sleep(PAUSE_MS)
      }
    }
    await Promise.all(
      this.#urls.flatMap((url) => Array.from({ length: clientsOfEach }, (_, index) => client(url, (STAGGER_MS * index) / clientsOfEach))),
    )
  }

  /** Told just before it is killed: how many of its answers are in flight. */
  dies(url: string): number {
    this.#dead.add(url)
    this.cut = this.#inFlight.get(url) ?? 0
    return this.cut
  }

  async #ask(url: string): Promise<Asked> {
    this.#count(url, 1)
    try {
      const response = await fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#secret}` },
        body: BODY,
      })
      const text = await response.text()
      if (response.status === 200) return this.#noteEnd(response, text, url)
      if (text.includes('insufficient_balance')) return 'used up'
      if (PASSING.has(response.status)) return 'again'
      throw new Error(`${url}: ${response.status} ${text}`)
    } catch (error) {
      if (this.#dead.has(url)) return 'again'
      throw error
    } finally {
      this.#count(url, -1)
    }
  }

  #noteEnd(response: Response, text: string, url: string): Asked {
    if (text.includes('event: message_stop')) {
      this.whole.add(response.headers.get('request-id') ?? '')
      return 'whole'
    }
    if (this.#dead.has(url)) return 'again'
    throw new Error(`${url}: an answer without its end: ${text.slice(-200)}`)
  }

  #count(url: string, by: 1 | -1): void {
    this.#inFlight.set(url, (this.#inFlight.get(url) ?? 0) + by)
  }
}
