/**
 * Gives a URL without a host one. Elysia finds a request's path behind the host of its URL. Without a usable Host header (HTTP/1.0, `Host: a b`) Bun gives the path
 * alone, and Elysia would then read `/zzzzzz/v1/models` as `/v1/models`. With a host, the path alone decides. Rules: platform.md "Bun's server", "Elysia".
 */

import { Elysia } from 'elysia'

export const absoluteUrl = () =>
  new Elysia({ name: 'absolute-url' }).wrap((answer) => (request: Request) => {
    if (request.url.startsWith('/')) Object.defineProperty(request, 'url', { value: `http://localhost${request.url}`, configurable: true })
    return answer(request)
  })
