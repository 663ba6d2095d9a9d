import {
  expandRoles,
  isRecord,
  isServiceError,
  type OwnRoutes,
  ownRoutesRef,
  type Principal,
} from '@steeple/contracts'
import type { Parts } from '../context.ts'
import { type BoxDocument, type PartReport, type PartStatus, rowsOf, short } from '../document.ts'
import {
  canonical,
  type Difference,
  differences,
  PARTS,
  type PartName,
  unsteerable,
  type Values,
} from '../state.ts'
import { comparable, type Hindrance, HOW, invitationsOfHub, type Step, withdrawal } from '../steps.ts'
import { PART_ROWS, type PartRow } from '../store.ts'
import { type Hub, partRows } from './kept.ts'

/** As whom the hub is seen to act here. What it can do is what `HOW` asks, and no more. */
function principalOf(hub: Hub): Principal {
  return { kind: 'node', id: hub.id, name: hub.membership.meshName, roles: expandRoles(['admin']) }
}

/** What a box is to have of its hub, and what of that it may be given. */
export interface Wanted {
  readonly hub: Hub
  readonly document: BoxDocument
  readonly permitted: readonly PartName[]
}

/** Brings this box to what a document says, part by part, as far as it is permitted and was not done before. What became of each. */
export async function apply(
  parts: Parts,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  return await eachPart(parts, wanted, signal, async (asked) => {
    const report = await applied(asked)
    const { status } = report
    const { part } = asked
    const problems = JSON.stringify(report.problems)
    await parts.context.db.write((tx) =>
      PART_ROWS.put(tx, { part, version: wanted.document.version, status, problems }),
    )
    return report
  })
}

/** How this box stands to what a document says; changes nothing. */
export async function standing(
  parts: Parts,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  return await eachPart(parts, wanted, signal, (asked, row) => {
    const isOfThis = row?.version === wanted.document.version
    // Written by `apply`.
    const problems = isOfThis ? (JSON.parse(row.problems) as readonly Problem[]) : []
    return reported(asked, isOfThis ? row.status : 'waiting', problems)
  })
}

async function eachPart(
  parts: Parts,
  { hub, document, permitted }: Wanted,
  signal: AbortSignal,
  open: (asked: Asked, row: PartRow | undefined) => Promise<PartReport>,
): Promise<readonly PartReport[]> {
  const { context } = parts
  const principal = principalOf(hub)
  const done = await partRows(parts)
  const reports: PartReport[] = []
  for (const part of PARTS) {
    const desired = document.state[part]
    if (desired === undefined) continue
    const row = done.get(part)
    const isDone = row?.version === document.version && row.status === 'applied'
    const asked = { context, own: context.use(ownRoutesRef), principal, part, desired, signal }
    if (!permitted.includes(part)) reports.push(await reported(asked, 'not_permitted', []))
    else reports.push(isDone ? await reported(asked, 'applied', []) : await open(asked, row))
  }
  return reports
}

/** What a hub has opened does not stay open when it may not open anything any more. */
export async function endInvitations({ context }: Parts, signal: AbortSignal): Promise<void> {
  const own = context.use(ownRoutesRef)
  const principal: Principal = { kind: 'system', id: 'groups', name: 'groups', roles: expandRoles(['admin']) }
  try {
    const answer = await own.ask(principal, { method: 'GET', path: HOW.invitations.look }, signal)
    for (const { id } of invitationsOfHub(isRecord(answer) ? answer : {}))
      await own.ask(principal, withdrawal(id), signal)
  } catch (error) {
    // Nobody is invited where there are no people; and somebody else was faster.
    if (
      !isServiceError(error) ||
      (error.code !== 'feature_not_installed' && error.code !== 'invitation_not_found')
    )
      throw error
  }
}

type Problem = PartReport['problems'][number]

/** One part of a document, and as whom this box's own routes are asked for it. */
interface Asked {
  readonly context: Parts['context']
  readonly own: OwnRoutes
  readonly principal: Principal
  readonly part: PartName
  readonly desired: Values
  readonly signal: AbortSignal
}

async function applied(asked: Asked): Promise<PartReport> {
  const { part, desired, signal } = asked
  const never = await neverTaken(asked)
  if (never !== undefined) return await reported(asked, 'refused', [never])
  const problems: Problem[] = []
  let isWaiting = false
  try {
    const { answer, seen } = await look(asked)
    for (const step of HOW[part].steps(desired, seen, answer, asked.context.clock.nowMs())) {
      const problem = await take(asked, step)
      if (problem === undefined) continue
      problems.push(problem.said)
      isWaiting ||= problem.isPassing
    }
    const rest = problems.length === 0 ? HOW[part].rest?.(desired, (await look(asked)).answer) : undefined
    if (rest !== undefined) {
      const { isPassing, pointer, code, message } = rest
      problems.push({ pointer, code, message: short(message) })
      isWaiting = isPassing
    }
  } catch (error) {
    problems.push(problemOf(`/${part}`, error))
    isWaiting = true
  }
  signal.throwIfAborted()
  const status: PartStatus = problems.length === 0 ? 'applied' : isWaiting ? 'waiting' : 'refused'
  return await reported(asked, status, problems)
}

/** What no hub sets, whatever it says: a hub that is not what it was may say anything. */
async function neverTaken({ own, part, desired }: Asked): Promise<Problem | undefined> {
  const state = { [part]: desired }
  const [never] = unsteerable(state)
  if (never !== undefined) return { pointer: never.pointer, code: 'forbidden', message: never.message }
  try {
    await own.check({ method: 'PUT', path: '/v1/groups/any', body: { members: {}, state } })
    return undefined
  } catch (error) {
    return problemOf(`/${part}`, error)
  }
}

/** How it stands now. */
async function reported(asked: Asked, status: PartStatus, problems: readonly Problem[]): Promise<PartReport> {
  const { part, desired } = asked
  const said = (all: readonly Problem[], drift: readonly Difference[]): PartReport => ({
    ...{ part, status, problems: rowsOf(all) },
    drift: rowsOf(drift).map(({ pointer, desired: wanted, actual }) => ({
      pointer: short(pointer),
      desired: short(canonical(wanted ?? null)),
      actual: short(canonical(actual ?? null)),
    })),
  })
  try {
    const { seen } = await look(asked)
    return said(problems, differences(comparable(part, desired), seen, `/${part}`))
  } catch (error) {
    // Said once: what cannot be seen cannot be compared.
    return said(problems.length === 0 ? [problemOf(`/${part}`, error)] : problems, [])
  }
}

async function look({ own, principal, part, desired, signal }: Asked) {
  const body = await own.ask(principal, { method: 'GET', path: HOW[part].look }, signal)
  const answer = isRecord(body) ? body : {}
  return { answer, seen: HOW[part].seen(answer, desired) }
}

async function take(
  { context, own, principal, part, signal }: Asked,
  step: Step | Hindrance,
): Promise<{ readonly said: Problem; readonly isPassing: boolean } | undefined> {
  if (!('question' in step)) return { said: { ...step, message: short(step.message) }, isPassing: false }
  try {
    await own.ask(principal, step.question, signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    if (isServiceError(error) && step.done?.includes(error.code) === true) return undefined
    const isPassing = !isServiceError(error) || error.status >= 500 || error.status === 429
    if (!isServiceError(error)) context.log.error({ err: error }, 'a part of the desired state failed')
    return { said: problemOf(step.pointer === '' ? `/${part}` : step.pointer, error), isPassing }
  }
}

function problemOf(pointer: string, error: unknown): Problem {
  if (!isServiceError(error))
    return { pointer, code: 'internal', message: 'this box failed at it; its log says more' }
  return { pointer: short(pointer), code: error.code, message: short(error.message) }
}
