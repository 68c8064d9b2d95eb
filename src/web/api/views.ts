/** The views of Explore that a person keeps: listed, kept, deleted. Each person has them alone, for the console or for an account's cabinet. Rules: pages.md "Saved views". */

import { Elysia, type Static, t } from 'elysia'
import { CUSTOMERS_DIMENSIONS, DIMENSIONS, isTrafficMeasure, SPANS, TRAFFIC_MEASURES } from '../../core/explore.ts'
import { VIEW_LENGTH_MAX, VIEWS_MAX, type ViewPlace } from '../../people/views.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { callerMacro } from './caller.ts'
import { NO_STORE, oneOf } from './console-acts.ts'
import { EXPLORE_FIELDS, exploreOf, trafficOf } from './explore-query.ts'
import { NAME, wrongName } from './name-field.ts'

/** `span`: days that are counted from the day on which the view is opened, in place of `from` and `to`. */
const FIELDS = { ...EXPLORE_FIELDS, span: t.Optional(oneOf(SPANS, `One of ${SPANS.join(', ')}`)) }
/** Others come through, so that they are refused: a schema without them would drop them, and keep another question than was meant. */
const VIEW = t.Object(FIELDS, { additionalProperties: true })
const BODY = t.Object({ name: NAME, view: VIEW })
type View = Static<typeof VIEW>

function keeping({ people, world }: Site) {
  const operators = (query: Omit<View, 'span'>) =>
    isTrafficMeasure(query.measure)
      ? trafficOf(query, query.measure, world.clock.now())
      : exploreOf(query, world.clock.now(), DIMENSIONS, TRAFFIC_MEASURES)
  const list = async (place: ViewPlace) => ({
    data: (await people().views.list(place)).map(({ view, ...one }) => ({ ...one, view: JSON.parse(view) as View })),
  })
  const keep = async (place: ViewPlace, { name: typed, view: { span, ...view } }: Static<typeof BODY>) => {
    const name = typed.trim()
    const wrong = wrongName(name)
    if (wrong !== undefined) return wrong
    const unknown = Object.keys(view).find((field) => !Object.hasOwn(FIELDS, field))
    if (unknown !== undefined) return refuse(400, `A view has no field "${unknown}"`, { field: `view.${unknown}` })
    const { from, to, ...undated } = view
    const query = span === undefined ? view : undated
    const asked = place.accountId === null ? operators(query) : exploreOf(query, world.clock.now(), CUSTOMERS_DIMENSIONS)
    if ('field' in asked) return refuse(400, asked.message, { field: asked.field })
    const text = JSON.stringify(span === undefined ? view : { ...undated, span })
    if (text.length > VIEW_LENGTH_MAX) return refuse(400, 'This view has too many filters to be kept', { field: 'view' })
    const saved = await people().views.save(place, { name, view: text })
    if (saved === 'none') return missing()
    if (saved === 'taken') return refuse(409, 'Another view has this name', { field: 'name' })
    if (saved === 'tooMany') return refuse(409, `You keep ${VIEWS_MAX} views already; delete one first`)
    return { id: saved.id, name: saved.name }
  }
  const remove = async (place: ViewPlace, id: string) =>
    (await people().views.remove(place, id)) ? new Response(null, { status: 204 }) : missing()
  return { list, keep, remove }
}

export function consoleViews(site: Site) {
  const { list, keep, remove } = keeping(site)
  const placeOf = ({ person }: { person: { id: string } }): ViewPlace => ({ personId: person.id, accountId: null })
  return new Elysia({ name: 'console views', prefix: '/console/api/views' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('', ({ caller }) => list(placeOf(caller)), { person: true })
    .post('', ({ caller, body }) => keep(placeOf(caller), body), { person: true, body: BODY })
    .delete('/:id', ({ caller, params }) => remove(placeOf(caller), params.id), { person: true })
}

export function cabinetViews(site: Site) {
  const { list, keep, remove } = keeping(site)
  const placeOf = ({ person }: { person: { id: string } }, accountId: string): ViewPlace => ({ personId: person.id, accountId })
  return new Elysia({ name: 'cabinet views', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('/views', ({ caller, params }) => list(placeOf(caller, params.accountId)), { member: 'reader' })
    .post('/views', ({ caller, params, body }) => keep(placeOf(caller, params.accountId), body), { member: 'reader', body: BODY })
    .delete('/views/:id', ({ caller, params }) => remove(placeOf(caller, params.accountId), params.id), { member: 'reader' })
}
