/** A reload of the configuration, and looks over the whole ledger as jobs, over the operator's API. Rules: operator-api.md "Jobs"; operator.md "Reload". */

import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import type { ReloadPreview } from '../../config/reload-preview.ts'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import type { Verification } from '../../ledger/reading/verifier.ts'
import type { ApiCaller } from './caller.ts'
import { answer, ERRORS, Failure, missing, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { AT, AT_OR_NULL, orNull, REASON, sent, WHY } from './shapes.ts'

const PROBLEM = t.Object({ path: t.String(), message: t.String() }, { title: 'ConfigProblem' })
const SETTING = t.Object(
  {
    setting: t.String(),
    before: orNull(t.String()),
    after: orNull(t.String()),
    unit: orNull(t.String(), '`usd_a_million_tokens` or `usd_a_use` of a price'),
    percent: orNull(t.Number(), 'By how much a price rises; negative: by how much it falls'),
  },
  { title: 'SettingChange', description: 'A setting as it is and as it would be; null: it is not there' },
)
const THING = t.Object(
  {
    kind: t.String({ enum: ['model', 'plan', 'upstream', 'gateway'] }),
    name: t.String(),
    state: t.String({ enum: ['added', 'removed', 'changed'] }),
    changes: t.Array(SETTING),
  },
  { title: 'ThingChange', description: 'What a reload changes of one model, plan or upstream, or of the gateway itself' },
)
const RELOAD = t.Object(
  {
    file: orNull(t.String()),
    problems: t.Array(PROBLEM, { description: 'Mistakes, because of which nothing changes' }),
    changes: t.Array(t.Record(t.String(), t.Unknown()), { description: 'The settings that become others' }),
    things: t.Array(THING, { description: 'The same by model, plan and upstream, with prices as customers pay them' }),
    needs_restart: t.Array(t.String(), { description: 'Changed settings that a reload leaves as they were' }),
    digest: orNull(t.String(), 'Send it with the reload, and nothing but this is reloaded; null: there is nothing to reload'),
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

const ASKED = sent(
  { reason: REASON, digest: t.Optional(t.String({ maxLength: 100, description: 'Of the preview that was looked at' })) },
  { title: 'ReloadBody' },
)

function shown({ without_effect: _unused, ...preview }: ReloadPreview) {
  return preview
}

type Asked = Readonly<{ reason?: string | undefined; digest?: string | undefined }>

/** The line of the audit log comes before the effect, as with every act. Without a digest it is a reload of what the file has become by then, as SIGHUP is. */
async function reload({ site, world, acts: { perform } }: Parts, caller: ApiCaller, { reason, digest }: Asked) {
  const done = await site.reloads.reload<Failure | 'repeats'>(digest, async (operation) => {
    const noted = await perform(caller, operation, reason)
    if (noted instanceof Failure) return noted
    return noted.repeats === undefined ? undefined : 'repeats'
  })
  const found = shown(done.preview)
  /** A repetition is answered although the file has become another one since. */
  const refused = async (why: Failure) => {
    const operation = { kind: 'reload', changes: found.changes.length, node: null, now: world.clock.now() } as const
    const repeated = await perform(caller, operation, reason, why)
    return repeated instanceof Failure ? repeated : found
  }
  switch (done.result) {
    case 'asked':
    case 'already':
    case 'nothing':
      return found
    case 'not noted':
      return done.refusal === 'repeats' ? found : done.refusal
    case 'mistakes':
      return refused(mistaken(found.problems))
    case 'stale':
      return refused(wrong('digest', 'What a reload would change is no longer this; look again'))
  }
}

function mistaken([first]: ReloadPreview['problems']): Failure {
  return new Failure(400, `The configuration has mistakes, and nothing changes; ${first?.path}: ${first?.message}`)
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Gateway'], summary, description })
const LOOKS = { scope: 'read', reach: 'gateway' } as const
const ACTS = { scope: 'all', reach: 'gateway' } as const

export function processRoutes(parts: Parts) {
  const { site, macro } = parts
  return new Elysia({ name: 'operator api process' })
    .use(macro)
    .get('/reload', () => answer(shown(site.reloads.preview())), {
      token: LOOKS,
      response: { 200: RELOAD, ...ERRORS },
      detail: detail('previewReload', 'Preview a reload', 'What the configuration file would change, and its mistakes.'),
    })
    .post('/reload', async ({ caller, body }) => answer(await reload(parts, caller, body)), {
      token: ACTS,
      body: ASKED,
      response: { 200: RELOAD, ...ERRORS },
      detail: detail(
        'reload',
        'Reload the configuration',
        'As SIGHUP does, in all processes of this set. A file with mistakes is 400 and changes nothing; so is a digest that is no longer that of the preview.',
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
