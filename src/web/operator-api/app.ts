/**
 * The operator's API as one app: the token is found before the route, so that a client without one learns nothing. Each act is the operation of the ledger that the command
 * line and the console perform. Rules: operator-api.md "Tokens", "Errors".
 */

import { type AnyElysia, Elysia, type ValidationError } from 'elysia'
import { answerStatic, makeStatic, type StaticContent } from '../../http/static-answer.ts'
import { CLIENT_ADDRESS, type Pages } from '../mount.ts'
import type { Site } from '../site.ts'
import { accountRoutes } from './accounts.ts'
import { apiActs } from './acts.ts'
import { auditRoutes } from './audit.ts'
import { budgetLooks } from './budget-looks.ts'
import { budgetRoutes } from './budgets.ts'
import { type Admitted, tokenMacro } from './caller.ts'
import { codeRoutes } from './codes.ts'
import { creditRoutes } from './credits.ts'
import { apiDocument, apiPage } from './document.ts'
import { exploreRoutes } from './explore.ts'
import { answer, Failure, wrong } from './failure.ts'
import { keyRoutes } from './keys.ts'
import { marginRoutes } from './margin.ts'
import type { Parts } from './parts.ts'
import { peopleRoutes } from './people.ts'
import { processRoutes } from './process.ts'
import { receiptRoutes } from './receipts.ts'
import { stateRoutes } from './state.ts'
import { tagRoutes } from './tags.ts'
import { TokenGate } from './token-gate.ts'
import { usageRoutes } from './usage.ts'

export function operatorApi(site: Site): Pages {
  const { world } = site
  const admitted: Admitted = new WeakMap()
  const routes = apiRoutes({ world, site, acts: apiActs(world), macro: tokenMacro(world, admitted) })
  const gate = new TokenGate(world)
  const described = describedBy(routes, site)
  const addressOf = ({ headers }: Request): string => headers.get(CLIENT_ADDRESS) ?? 'unknown'
  return {
    async admit(head) {
      const token = await gate.admit(head.headers, addressOf(head), false)
      return token instanceof Failure ? answer(token) : undefined
    },
    async handle(request) {
      const document = request.method === 'GET' ? described(request) : undefined
      if (document !== undefined) return document
      const address = addressOf(request)
      const token = await gate.admit(request.headers, address, request.method !== 'GET')
      if (token instanceof Failure) return answer(token)
      const whole = withBody(request)
      admitted.set(whole, { token, address })
      return routes.handle(whole)
    },
  }
}

/** What any client may read, since nothing in it is of this installation but its address: the API as a document and as a page. */
function describedBy(routes: AnyElysia, { config, world }: Site): (request: Request) => Response | undefined {
  let made: Readonly<{ of: string; json: StaticContent; page: StaticContent }> | undefined
  return (request) => {
    const { pathname, origin: asked } = new URL(request.url)
    if (pathname !== '/api' && pathname !== '/api/openapi.json') return undefined
    const origin = config().operator.publicUrl ?? asked
    const of = `${origin} ${world.publicUrl()}`
    if (made?.of !== of) {
      const document = apiDocument(routes, origin)
      const json = makeStatic({ text: JSON.stringify(document), type: 'application/json', caching: 'revalidate' })
      made = { of, json, page: apiPage(document, world.publicUrl()) }
    }
    return answerStatic(request, pathname === '/api' ? made.page : made.json, {})
  }
}

/** `normalize` is off, because a field that is not known is refused and not dropped. */
const apiRoutes = (parts: Parts) =>
  new Elysia({ strictPath: true, normalize: false, prefix: '/api/v1', handler: { standardHostname: false } })
    .use(apiErrors())
    .use(accountRoutes(parts))
    .use(keyRoutes(parts))
    .use(budgetRoutes(parts))
    .use(budgetLooks(parts))
    .use(creditRoutes(parts))
    .use(codeRoutes(parts))
    .use(peopleRoutes(parts))
    .use(receiptRoutes(parts))
    .use(usageRoutes(parts))
    .use(tagRoutes(parts))
    .use(exploreRoutes(parts))
    .use(marginRoutes(parts))
    .use(auditRoutes(parts))
    .use(stateRoutes(parts))
    .use(processRoutes(parts))

/** The types of its routes, for clients in TypeScript (Eden). */
export type OperatorApi = ReturnType<typeof apiRoutes>

/** An act that needs no field may be sent without a body. */
function withBody(request: Request): Request {
  if (request.method === 'GET' || request.body !== null) return request
  const headers = new Headers(request.headers)
  headers.set('content-type', 'application/json')
  return new Request(request.url, { method: request.method, headers, body: '{}' })
}

/** Where Elysia itself refuses: a body of another shape, an unknown path. Bugs are thrown on. */
const apiErrors = () =>
  new Elysia({ name: 'operator api errors' }).onError({ as: 'global' }, ({ code, error }) => {
    switch (code) {
      case 'VALIDATION':
        return answer(ofShape(error))
      case 'PARSE':
        return answer(new Failure(400, 'The body is not JSON'))
      case 'NOT_FOUND':
        return answer(new Failure(404, 'The requested API endpoint does not exist'))
      default:
        throw error
    }
  })

function ofShape({ valueError }: Readonly<Pick<ValidationError, 'valueError'>>): Failure {
  const field = valueError?.path.slice(1).replaceAll('/', '.') ?? ''
  if (valueError?.message === 'Unexpected property') return wrong(field, 'There is no such field')
  return wrong(field === '' ? 'body' : field, valueError?.schema.description ?? 'Input is not as expected')
}
