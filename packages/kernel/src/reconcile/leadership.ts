import { AsyncLocalStorage } from 'node:async_hooks'
import { type InstanceView, notReady, type RunsOn, type Settings } from '@steeple/contracts'

/** A time of leading, from the taking of the lease to its end. */
export interface Term {
  readonly epoch: number
  /** How long the lease lasts for sure, by monotonic time, ms. Below 0 once it does not. */
  remainingMs(): number
  /** Fires when the lease has ended. By `remainingMs` a process that was frozen knows it earlier. */
  readonly signal: AbortSignal
}

/** Whether this instance reconciles and runs schedules (docs/adr/0014-several-instances.md). */
export interface Leadership {
  /** The present term; undefined while another leads. */
  term(): Term | undefined
  view(): Omit<InstanceView, 'isMachine'>
  /** Runs after each beginning and end of a term. */
  onChange(listener: () => void): void
  /** Ends the term so that another may lead at once. */
  close(): Promise<void>
}

/** Less than that is left: nothing is begun that reaches beyond this process, ms. */
const LEAST_CALL_MS = 1_000

const terms = new AsyncLocalStorage<Term>()

/** The leadership of a store that this process alone has. */
export function aloneLeadership(name: string): Leadership {
  const term: Term = {
    epoch: 0,
    remainingMs: () => Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
  }
  return {
    term: () => term,
    view: () => ({ name, role: 'alone', leader: name, epoch: 0 }),
    onChange: () => undefined,
    close: async () => undefined,
  }
}

/** Does `work` in the name of a term: what it writes is recorded, and what it calls is called, only while that lasts. */
export function inTerm<T>(term: Term, work: () => Promise<T>): Promise<T> {
  return term.epoch === 0 ? work() : terms.run(term, work)
}

/** The term in whose name the present work is done; undefined for work that any instance may do. */
export function currentTerm(): Term | undefined {
  return terms.getStore()
}

/** Throws `not_ready` when too little of the lease is left to begin a call that reaches beyond this process. */
export function mustOutlast(term: Term): void {
  if (term.remainingMs() < LEAST_CALL_MS) throw notReady(lostWords(term))
}

/** `given`, and aborted from the moment on in which the lease is over, also while no timer has run since. */
export function termSignal(term: Term, given: AbortSignal): AbortSignal {
  const signal = AbortSignal.any([given, term.signal])
  const isOver = (): boolean => given.aborted || term.signal.aborted || term.remainingMs() <= 0
  return Object.defineProperties(signal, {
    aborted: { get: isOver },
    throwIfAborted: {
      value: () => {
        if (isOver()) throw given.aborted ? given.reason : notReady(lostWords(term))
      },
    },
  })
}

/** What is said to work whose term is over. */
export function lostWords({ epoch }: Pick<Term, 'epoch'>): string {
  return `another instance leads since epoch ${epoch}: nothing is sent or recorded in its name any more`
}

/** What of periodic work and reconciling this instance does now. */
export interface Placement {
  runsHere(runs: RunsOn): boolean
  /** The present term of this instance; undefined while another leads. */
  term(): Term | undefined
}

/** Whether the radio and the core are this instance's: both names are empty where there is one instance. */
export function isMachine({ cluster }: Pick<Settings, 'cluster'>): boolean {
  return cluster.instance === cluster.machine
}

/** Where periodic work and reconciling run, for this instance. */
export function placementOf(
  leadership: Pick<Leadership, 'term'>,
  settings: Pick<Settings, 'cluster'>,
): Placement {
  return {
    term: () => leadership.term(),
    runsHere: (runs) => {
      if (runs === 'each') return true
      return runs === 'machine' ? isMachine(settings) : leadership.term() !== undefined
    },
  }
}
