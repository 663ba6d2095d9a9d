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
  return await eachPart(parts, wanted, signal, async (asker, part) => {
    const report = await asker.apply()
    const { status } = report
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
  return await eachPart(parts, wanted, signal, (asker, _, row) => {
    const isOfThis = row?.version === wanted.document.version
    // Written by `apply`.
    const problems = isOfThis ? (JSON.parse(row.problems) as readonly Problem[]) : []
    return asker.report(isOfThis ? row.status : 'waiting', problems)
  })
}

async function eachPart(
  parts: Parts,
  { hub, document, permitted }: Wanted,
  signal: AbortSignal,
  open: (asker: Asker, part: PartName, row: PartRow | undefined) => Promise<PartReport>,
): Promise<readonly PartReport[]> {
  const done = await partRows(parts)
  const reports: PartReport[] = []
  for (const part of PARTS) {
    const desired = document.state[part]
    if (desired === undefined) continue
    const row = done.get(part)
    const isDone = row?.version === document.version && row.status === 'applied'
    const asker = new Asker(parts, principalOf(hub), part, desired, signal)
    if (!permitted.includes(part)) reports.push(await asker.report('not_permitted', []))
    else reports.push(isDone ? await asker.report('applied', []) : await open(asker, part, row))
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

/** Asks this box's own routes for one part. */
class Asker {
  readonly #own: OwnRoutes
  readonly #parts: Parts
  readonly #principal: Principal
  readonly #part: PartName
  readonly #desired: Values
  readonly #signal: AbortSignal

  constructor(parts: Parts, principal: Principal, part: PartName, desired: Values, signal: AbortSignal) {
    this.#own = parts.context.use(ownRoutesRef)
    this.#parts = parts
    this.#principal = principal
    this.#part = part
    this.#desired = desired
    this.#signal = signal
  }

  async apply(): Promise<PartReport> {
    const never = await this.#neverTaken()
    if (never !== undefined) return await this.report('refused', [never])
    const problems: Problem[] = []
    let isWaiting = false
    try {
      for (const step of await this.#steps()) {
        const problem = await this.#take(step)
        if (problem === undefined) continue
        problems.push(problem.said)
        isWaiting ||= problem.isPassing
      }
      const rest = problems.length === 0 ? await this.#rest() : undefined
      if (rest !== undefined) {
        const { isPassing, pointer, code, message } = rest
        problems.push({ pointer, code, message: short(message) })
        isWaiting = isPassing
      }
    } catch (error) {
      problems.push(problemOf(`/${this.#part}`, error))
      isWaiting = true
    }
    this.#signal.throwIfAborted()
    const status: PartStatus = problems.length === 0 ? 'applied' : isWaiting ? 'waiting' : 'refused'
    return await this.report(status, problems)
  }

  /** What no hub sets, whatever it says: a hub that is not what it was may say anything. */
  async #neverTaken(): Promise<Problem | undefined> {
    const state = { [this.#part]: this.#desired }
    const [own] = unsteerable(state)
    if (own !== undefined) return { pointer: own.pointer, code: 'forbidden', message: own.message }
    try {
      await this.#own.check({ method: 'PUT', path: '/v1/groups/any', body: { members: {}, state } })
      return undefined
    } catch (error) {
      return problemOf(`/${this.#part}`, error)
    }
  }

  /** How it stands now. */
  async report(status: PartStatus, problems: readonly Problem[]): Promise<PartReport> {
    let drift: readonly Difference[] = []
    try {
      const { seen } = await this.#look()
      drift = differences(comparable(this.#part, this.#desired), seen, `/${this.#part}`)
    } catch (error) {
      // Said once: what cannot be seen cannot be compared.
      if (problems.length === 0) return this.#said(status, [problemOf(`/${this.#part}`, error)], [])
    }
    return this.#said(status, problems, drift)
  }

  #said(status: PartStatus, problems: readonly Problem[], drift: readonly Difference[]): PartReport {
    return {
      part: this.#part,
      status,
      problems: rowsOf(problems),
      drift: rowsOf(drift).map(({ pointer, desired, actual }) => ({
        pointer: short(pointer),
        desired: short(canonical(desired ?? null)),
        actual: short(canonical(actual ?? null)),
      })),
    }
  }

  async #look(): Promise<{ readonly answer: Values; readonly seen: Values }> {
    const { look, seen } = HOW[this.#part]
    const body = await this.#own.ask(this.#principal, { method: 'GET', path: look }, this.#signal)
    const answer = isRecord(body) ? body : {}
    return { answer, seen: seen(answer, this.#desired) }
  }

  async #rest(): Promise<(Hindrance & { readonly isPassing: boolean }) | undefined> {
    const { rest } = HOW[this.#part]
    return rest?.(this.#desired, (await this.#look()).answer)
  }

  async #steps(): Promise<readonly (Step | Hindrance)[]> {
    const { answer, seen } = await this.#look()
    return HOW[this.#part].steps(this.#desired, seen, answer, this.#parts.context.clock.nowMs())
  }

  async #take(
    step: Step | Hindrance,
  ): Promise<{ readonly said: Problem; readonly isPassing: boolean } | undefined> {
    if (!('question' in step)) return { said: { ...step, message: short(step.message) }, isPassing: false }
    try {
      await this.#own.ask(this.#principal, step.question, this.#signal)
      return undefined
    } catch (error) {
      this.#signal.throwIfAborted()
      if (isServiceError(error) && step.done?.includes(error.code) === true) return undefined
      const isPassing = !isServiceError(error) || error.status >= 500 || error.status === 429
      if (!isServiceError(error))
        this.#parts.context.log.error({ err: error }, 'a part of the desired state failed')
      return { said: problemOf(step.pointer === '' ? `/${this.#part}` : step.pointer, error), isPassing }
    }
  }
}

function problemOf(pointer: string, error: unknown): Problem {
  if (!isServiceError(error))
    return { pointer, code: 'internal', message: 'this box failed at it; its log says more' }
  return { pointer: short(pointer), code: error.code, message: short(error.message) }
}
