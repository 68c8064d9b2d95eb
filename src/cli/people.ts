/**
 * `tollgate people`: who may come into the cabinet and the console. The command opens the people's store itself, beside a running gateway, which sees a change with the
 * next request. Rules: pages.md "People", "Links"; operator.md "Audit".
 */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { isoOrNull } from '../core/utc.ts'
import type { Operation } from '../ledger/operation.ts'
import { ownActor } from '../operator/peer.ts'
import { type Invitation, Links } from '../people/links.ts'
import { emailOf, type ListedPerson, Memberships, type Role } from '../people/memberships.ts'
import { openPeople, peoplePlaceOf } from '../people/open-people.ts'
import { type Listener, originsOf } from '../people/origins.ts'
import { PeopleAway, type PeopleStore } from '../people/people-sql.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, noLedger, type Stop, wrongUse } from './environment.ts'
import { operate, type Why, withReason } from './operate.ts'
import { accountNamed, readReport } from './read-report.ts'
import { tableText, timeText } from './text.ts'

type To = { account?: string; operator?: true }
type InviteOptions = Why & To & { role?: Role }

export function addPeople(program: Command, run: Run): void {
  const people = program.command('people').description('who may come into the cabinet and the console')
  const to = (command: Command): Command =>
    withJson(command)
      .argument('<EMAIL>', 'an e-mail address', readEmail)
      .option('--account <ACCOUNT>', 'an account of the cabinet: its id or name')
      .option('--operator', 'the console')
  const invite = withReason(to(people.command('invite')))
    .description('print a link by which that person comes in, once')
    .addOption(new Option('--role <ROLE>', 'an owner may do all, a reader looks; default: owner').choices(['owner', 'reader']))
  invite.action((email: string, options: InviteOptions) => run(invite, (context) => invitePerson(context, email, options)))
  const list = withJson(people.command('list')).description('show all people and invitations')
  list.action(() => run(list, listPeople))
  const remove = withReason(to(people.command('remove'))).description('take access away, of everything if nothing is named')
  remove.action((email: string, options: Why & To) => run(remove, (context) => removePerson(context, email, options)))
  const reset = withReason(withJson(people.command('reset')))
    .description('print a link by which that person sets a new password, once')
    .argument('<EMAIL>', 'an e-mail address', readEmail)
    .option('--operator', 'a link to the console')
  reset.action((email: string, options: Why & To) => run(reset, (context) => resetPassword(context, email, options)))
}

async function invitePerson(context: CommandContext, email: string, { role, ...options }: InviteOptions): Promise<ExitCode | Stop> {
  if ((options.account === undefined) === (options.operator === undefined)) return wrongUse('give --account ACCOUNT or --operator')
  if (options.operator && role !== undefined) return wrongUse('an operator has no role: --role goes with --account')
  const accountId = accountIdOf(context, options)
  if (isStop(accountId)) return accountId
  const base = baseOf(context, accountId === null ? 'console' : 'cabinet')
  if (isStop(base)) return base
  const membership = accountId === null ? null : { accountId, role: role ?? 'owner' }
  const noted = await note(context, { email, accountId, access: membership?.role ?? 'operator' }, options)
  if (isStop(noted)) return noted
  return withPeople(context, async (_memberships, links) => {
    const link = `${base}/${accountId === null ? 'console' : 'cabinet'}/invite/${await links.invite(email, membership, ownActor())}`
    const found = (await links.invitations()).find((one) => one.email === email)
    const document = {
      email,
      account_id: accountId,
      role: membership?.role ?? 'operator',
      link,
      expires_at: isoOrNull(found?.expiresAt ?? null),
    }
    context.say(document, () => `${link}\n\nIt works once, until ${document.expires_at}. Send it to ${email}.`)
    return EXIT.ok
  })
}

function listPeople(context: CommandContext): Promise<ExitCode | Stop> | Stop {
  const known = readReport(context, () => null)
  if (isStop(known)) return known
  return withPeople(context, async (memberships, links) => {
    const [people, invitations] = [await memberships.list(), await links.invitations()]
    const rows = [...people.map(rowOf), ...invitations.map(invitationRow)]
    context.say({ data: people.map(documentOf), invitations: invitations.map(invitationDocument) }, () =>
      tableText(
        ['EMAIL', 'NAME', 'OPERATOR', 'ACCOUNTS', 'SIGNED IN'],
        rows,
        'There are no people yet: `tollgate people invite EMAIL --operator` brings the first.',
      ),
    )
    return EXIT.ok
  })
}

/** Access is removed before the audit log has its line, so that it ends even while the ledger cannot write. */
async function removePerson(context: CommandContext, email: string, options: Why & To): Promise<ExitCode | Stop> {
  if (options.account !== undefined && options.operator) return wrongUse('give --account or --operator, not both')
  const accountId = accountIdOf(context, options)
  if (isStop(accountId)) return accountId
  const what = accountId === null ? (options.operator ? 'operator' : 'all') : { accountId }
  const removed = await withPeople(context, (memberships) => memberships.remove(email, what))
  if (isStop(removed)) return removed
  if (removed === 'none') return wrongUse(`${email} has no such access`)
  const noted = await note(context, { email, accountId, access: 'none' }, options)
  if (isStop(noted)) return noted
  const from = accountId === null ? (options.operator ? 'the console' : 'everything') : accountId
  context.say({ email, account_id: accountId, removed_from: from }, () => `${email} has no more access to ${from}.`)
  return EXIT.ok
}

/** The audit log has its line before the link is made: there is no link without a line. */
async function resetPassword(context: CommandContext, email: string, { operator, ...why }: Why & To): Promise<ExitCode | Stop> {
  const listener = operator ? 'console' : 'cabinet'
  const base = baseOf(context, listener)
  if (isStop(base)) return base
  const person = await withPeople(
    context,
    async (memberships) => (await memberships.byEmail(email)) ?? wrongUse(`no person has the e-mail ${email}`),
  )
  if (isStop(person)) return person
  const operation = { kind: 'giveLink', email, link: 'password', listener, now: context.environment.now() } as const
  const noted = await operate(context, operation, { ...why, create: false })
  if (isStop(noted)) return noted
  return withPeople(context, async (_memberships, links) => {
    const link = `${base}/${listener}/reset/${await links.reset(person.id)}`
    context.say({ email, link }, () => `${link}\n\nIt works once, within the hour. Send it to ${email}.`)
    return EXIT.ok
  })
}

/** null: the command names no account. */
function accountIdOf(context: CommandContext, { account }: To): string | null | Stop {
  if (account === undefined) return null
  const found = accountNamed(context, account)
  return isStop(found) ? found : found.id
}

type Access = Pick<Extract<Operation, { kind: 'setAccess' }>, 'email' | 'accountId' | 'access'>

const note = (context: CommandContext, access: Access, { reason }: Why) =>
  operate(
    context,
    { kind: 'setAccess', ...access, now: context.environment.now() },
    { ...(reason === undefined ? {} : { reason }), create: false },
  )

/** The address with which links begin. A port that the gateway picks at its start is not known to this command. */
function baseOf({ config }: CommandContext, listener: Listener): string | Stop {
  const { publicUrl, host, port } = listener === 'cabinet' ? { ...config.server, ...config.cabinet } : config.operator
  if (publicUrl === undefined && port === 0)
    return wrongUse(`the port is picked at start: set [${listener === 'cabinet' ? 'cabinet' : 'operator'}] public_url`)
  return originsOf(publicUrl, `http://${host.includes(':') ? `[${host}]` : host}:${port}`).base
}

async function withPeople<T>(context: CommandContext, work: (memberships: Memberships, links: Links) => Promise<T>): Promise<T | Stop> {
  const place = peoplePlaceOf(context.config.ledger)
  let store: PeopleStore
  try {
    store = openPeople(place)
  } catch (error) {
    return noLedger(`the people cannot be opened: ${error instanceof Error ? error.message : String(error)}`)
  }
  try {
    const memberships = new Memberships(store, context.environment.now)
    return await work(memberships, new Links(store, memberships, context.environment.now))
  } catch (error) {
    if (!(error instanceof PeopleAway)) throw error
    return noLedger(`the people cannot be asked: ${error.message}`)
  } finally {
    await store.close()
  }
}

function readEmail(text: string): string {
  const email = emailOf(text)
  if (email === undefined) throw new InvalidArgumentError('Expected an e-mail address.')
  return email
}

const documentOf = ({ id, email, name, isOperator, memberships, sessions }: ListedPerson) => ({
  id,
  email,
  name,
  is_operator: isOperator,
  accounts: memberships.map(({ accountId, role }) => ({ id: accountId, role })),
  sessions,
})

const invitationDocument = ({ email, membership, invitedBy, createdAt, expiresAt }: Invitation) => ({
  email,
  account_id: membership?.accountId ?? null,
  role: membership?.role ?? 'operator',
  invited_by: invitedBy,
  created_at: isoOrNull(createdAt),
  expires_at: isoOrNull(expiresAt),
})

const rowOf = ({ email, name, isOperator, memberships, sessions }: ListedPerson): readonly string[] => [
  email,
  name,
  isOperator ? 'yes' : '',
  memberships.map(({ accountId, role }) => `${accountId} (${role})`).join(', '),
  String(sessions),
]

const invitationRow = ({ email, membership, expiresAt }: Invitation): readonly string[] => [
  email,
  '',
  membership === null ? 'invited' : '',
  membership === null ? '' : `${membership.accountId} (${membership.role}, invited)`,
  `until ${timeText(expiresAt)}`,
]
