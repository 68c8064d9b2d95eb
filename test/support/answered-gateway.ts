/** A gateway before an upstream that answers every request at once, and a funded key: for tests that look at requests, whose answer is beside the point. */

import { type FakeUpstream, nativeMessage, type Script, startFakeUpstream } from './fake-upstream.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts'

export const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
}
/** What `count_tokens` is answered, whatever else is. */
export const COUNTED = { input_tokens: 7 }

export type AnsweredGateway = Readonly<{ upstream: FakeUpstream; gateway: TestGateway; secret: string; stop(): Promise<void> }>
type Options = Omit<TestGatewayOptions, 'upstreams'> & Readonly<{ balanceUsd?: string; script?: () => Script }>

/** `script` is asked at each request, so that a test may change it; without one it is `MESSAGE`. */
export async function startAnsweredGateway({ balanceUsd, script, ...options }: Options = {}): Promise<AnsweredGateway> {
  const upstream = await startFakeUpstream({
    answer: ({ path }) => (path.endsWith('count_tokens') ? nativeMessage(COUNTED) : (script?.() ?? nativeMessage(MESSAGE))),
  })
  const gateway = await startTestGateway({ upstreams: [upstream.url], ...options })
  const secret = await gateway.createKey(balanceUsd === undefined ? {} : { balanceUsd })
  const stop = async (): Promise<void> => {
    await gateway.stop()
    upstream.stop()
  }
  return { upstream, gateway, secret, stop }
}
