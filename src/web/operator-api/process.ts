/** A reload of the configuration, and looks over the whole ledger as jobs, over the operator's API. Rules: operator-api.md "Jobs"; operator.md "Reload". */

import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import type { Verification } from '../../ledger/reading/verifier.ts'
import { previewOf } from '../api/catalog.ts'
import type { ApiCaller } from './caller.ts'
import { answer, ERRORS, Failure, missing } from './failure.ts'
import type { Parts } from './parts.ts'
import { AT, AT_OR_NULL, orNull, WHY } from './shapes.ts'

const PROBLEM = t.Object({ path: t.String(), message: t.String() }, { title: 'ConfigProblem' })
const RELOAD = t.Object(
  {
    file: orNull(t.String()),
    problems: t.Array(PROBLEM, { description: 'Mistakes, because of which nothing changes' }),
    changes: t.Array(t.Record(t.String(), t.Unknown()), { description: 'The settings that become others' }),
    needs_restart: t.Array(t.String(), { description: 'Changed settings that a reload leaves as they were' }),
  },
  { title: 'Reload', description: 'What a reload changes' },
)
const DIFFERENCE = t.Object(
  { rule: t.String(), subject: t.String(), stored: t.String(), recomputed: t.String() },
  { title: 'Difference', description: 'A row that is not what the others say' },
)
const VERIFICATION = t.Object(
  {
    id: t.String(),
    state: t.String({ enum: ['running', 'done', 'failed'] }),
    ok: orNull(t.Boolean(), 'null: it is not known yet'),
    progress: t.Object({ step: t.String({ enum: ['rules', 'chains'] }), done: Type.Integer(), of: Type.Integer() }),
    differences: t.Array(DIFFERENCE),
    problem: orNull(t.String(), 'Why the ledger could not be read'),
    started_at: AT('when it began'),
    ended_at: AT_OR_NULL('when it ended'),
  },
  { title: 'Verification', description: 'A look over the whole ledger' },
)

const verificationDocument = (job: Verification) => ({
  id: job.id,
  state: job.state,
  ok: job.state === 'done' ? job.found.length === 0 : null,
  progress: job.progress,
  differences: job.state === 'done' ? job.found : [],
  problem: job.state === 'failed' ? job.problem : null,
  started_at: isoTime(job.startedAt),
  ended_at: isoOrNull(job.endedAt),
})

function preview(site: Parts['site']) {
  const { file, problems, changes, needs_restart } = previewOf(site)
  return { file, problems, changes, needs_restart }
}

/** The line of the audit log comes before the effect, as with every act. */
async function reload({ site, world, acts: { perform } }: Parts, caller: ApiCaller, reason: string | undefined) {
  const found = preview(site)
  const [first] = found.problems
  if (first !== undefined) return new Failure(400, `The configuration has mistakes, and nothing changes; ${first.path}: ${first.message}`)
  const done = await perform(caller, { kind: 'reload', changes: found.changes.length, now: world.clock.now() }, reason)
  if (done instanceof Failure) return done
  if (done.repeats === undefined) site.askReload()
  return found
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Gateway'], summary, description })
const LOOKS = { scope: 'read', reach: 'gateway' } as const
const ACTS = { scope: 'all', reach: 'gateway' } as const

export function processRoutes(parts: Parts) {
  const { site, macro } = parts
  return new Elysia({ name: 'operator api process' })
    .use(macro)
    .get('/reload', () => answer(preview(site)), {
      token: LOOKS,
      response: { 200: RELOAD, ...ERRORS },
      detail: detail('previewReload', 'Preview a reload', 'What the configuration file would change, and its mistakes.'),
    })
    .post('/reload', async ({ caller, body: { reason } }) => answer(await reload(parts, caller, reason)), {
      token: ACTS,
      body: WHY,
      response: { 200: RELOAD, ...ERRORS },
      detail: detail(
        'reload',
        'Reload the configuration',
        'As SIGHUP does, in all processes of this set. A file with mistakes is 400 and changes nothing.',
      ),
    })
    .post('/verifications', () => answer(verificationDocument(site.verifier.start())), {
      token: ACTS,
      body: WHY,
      response: { 200: VERIFICATION, ...ERRORS },
      detail: detail('startVerification', 'Verify the ledger', 'Begins a look over the whole ledger, or shows the one that runs.'),
    })
    .get(
      '/verifications/:id',
      ({ params }) => {
        const job = site.verifier.find(params.id)
        return answer(job === undefined ? missing() : verificationDocument(job))
      },
      {
        token: LOOKS,
        response: { 200: VERIFICATION, ...ERRORS },
        detail: detail(
          'getVerification',
          'Show a verification',
          'How far it is, and what it found. The process that began it knows it, until it ends.',
        ),
      },
    )
}
