import type { Reconciler } from '@steeple/contracts'
import { Controller } from './controller.ts'
import type { ControllerOptions } from './controller-options.ts'
import { inTerm, termSignal } from './leadership.ts'
import type { Places } from './places.ts'

/** A reconciler, whose it is, and the queue in front of it. */
export interface Held {
  readonly owner: string
  readonly controller: Controller
  readonly reconciler: Reconciler
  /** The term in which it was attached; undefined while it is not. */
  epoch: number | undefined
  /** Until its owner attaches again. */
  isPaused: boolean
}

/** The reconcilers of all owners, at work where they run now. */
export interface Roster {
  readonly held: ReadonlyMap<string, Held>
  isHere(held: Held): boolean
  /** See `ReconcileEngine`; these do as it says. */
  problemOf(owner: string, reconcilers: readonly Reconciler[]): string | undefined
  attach(owner: string, reconcilers: readonly Reconciler[]): Promise<void>
  pause(owner: string): Promise<void>
  follow(): Promise<void>
  close(): Promise<void>
}

/** Nobody has any. `places`: what runs here; everything when absent. */
export function createRoster(places: Places | undefined, options: () => ControllerOptions): Roster {
  const controllers = new Map<string, Held>()
  let turn = Promise.resolve()
  let isClosed = false

  const controllersOf = (owner: string): readonly (readonly [string, Controller])[] =>
    [...controllers]
      .filter(([, held]) => held.owner === owner)
      .map(([resource, held]) => [resource, held.controller] as const)

  const attach = async (owner: string, reconcilers: readonly Reconciler[]): Promise<void> => {
    const problem = problemIn(controllers, owner, reconcilers)
    if (problem !== undefined) throw new TypeError(problem)
    await Promise.all(controllersOf(owner).map(([, controller]) => controller.detach()))
    const stay = new Set(reconcilers.map((reconciler) => reconciler.resource))
    for (const [resource] of controllersOf(owner)) if (!stay.has(resource)) controllers.delete(resource)
    if (isClosed) return
    for (const reconciler of reconcilers) {
      const controller =
        controllers.get(reconciler.resource)?.controller ?? new Controller(reconciler.resource, options())
      const held: Held = { owner, controller, reconciler, epoch: undefined, isPaused: false }
      controllers.set(reconciler.resource, held)
      engage(held)
    }
  }

  const isHere = ({ reconciler }: Held): boolean => places?.runsHere(reconciler.runs ?? 'leader') !== false

  /** A term begins with a full look at all keys, whoever looked at them before. */
  const engage = (held: Held): void => {
    if (held.isPaused || !isHere(held)) return
    held.epoch = epochNow()
    held.controller.attach(inTermOf(places, held.reconciler))
  }

  const epochNow = (): number => places?.term()?.epoch ?? 0

  const follow = async (): Promise<void> => {
    for (const held of controllers.values()) {
      const isEngaged = held.epoch !== undefined
      const isSame = isHere(held) === isEngaged && (runsEverywhere(held) || held.epoch === epochNow())
      if (isClosed || isSame || held.isPaused || !(isHere(held) || isEngaged)) continue
      held.epoch = undefined
      await held.controller.detach()
      if (controllers.get(held.reconciler.resource) === held) engage(held)
    }
  }

  return {
    held: controllers,
    isHere,
    problemOf: (owner, reconcilers) => problemIn(controllers, owner, reconcilers),
    attach,
    pause: async (owner) => {
      for (const held of controllers.values()) if (held.owner === owner) held.isPaused = true
      await Promise.all(controllersOf(owner).map(([, controller]) => controller.detach()))
    },
    follow: () => {
      turn = turn.then(follow)
      return turn
    },
    close: async () => {
      isClosed = true
      await Promise.all([...controllers.values()].map(({ controller }) => controller.detach()))
      controllers.clear()
    },
  }
}

function problemIn(
  controllers: ReadonlyMap<string, Held>,
  owner: string,
  reconcilers: readonly Reconciler[],
): string | undefined {
  const seen = new Set<string>()
  for (const { resource } of reconcilers) {
    const other = controllers.get(resource)?.owner ?? owner
    if (other !== owner) return `the resource ${resource} is reconciled by ${other}`
    if (seen.has(resource)) return `the resource ${resource} is named twice`
    seen.add(resource)
  }
  return undefined
}

function runsEverywhere({ reconciler }: Held): boolean {
  return (reconciler.runs ?? 'leader') !== 'leader'
}

/** What is done in the name of a term ends with it. */
function inTermOf(places: Places | undefined, reconciler: Reconciler): Reconciler {
  const term = (reconciler.runs ?? 'leader') === 'leader' ? places?.term() : undefined
  if (term === undefined || term.epoch === 0) return reconciler
  return {
    ...reconciler,
    keys: () => inTerm(term, () => reconciler.keys()),
    reconcile: (keys, signal) => inTerm(term, () => reconciler.reconcile(keys, termSignal(term, signal))),
  }
}
