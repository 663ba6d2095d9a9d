import { setTimeout as wait } from 'node:timers/promises'
import {
  backoffMs,
  type Context,
  createTurns,
  isServiceError,
  type Outcome,
  southboundUnavailable,
  validationFailed,
} from '@steeple/contracts'
import { endContainer } from '../container/container-radio.ts'
import { radioContainer } from '../container/radio-container.ts'
import { type ExitClass, exitClass, exitText, isRetried, type RadioExit } from '../process/exit-class.ts'
import { endOrphans } from '../process/orphans.ts'
import type { Haste } from '../process/radio-process.ts'
import type { DesiredRadio } from './desired-radio.ts'
import { type GateQuestion, gateQuestion, isSameCarrier } from './desired-radio.ts'
import { type RadioStart, radioStart } from './radio-start.ts'
import { NOTHING_RUNS, type RadioSnapshot, Refusal, runningOf, stateOf } from './radio-state.ts'
import { overdue, prepareStart, type RunningRadio, stallOf } from './running-radio.ts'

/** Less its jitter, the first wait is 1 s. */
const BETWEEN_STARTS = { firstMs: 1_250, longestMs: 60_000 }
/** A radio that was on air for so long has proved itself, ms. */
const PROVEN_MS = 300_000

export interface Backoff {
  /** How long to wait before the next start, ms: after a radio that was on air for `upMs`. */
  next(upMs: number): number
  reset(): void
}

/** From 1 s doubling to 60 s, with the jitter of every back-off, and from the beginning after 5 minutes on air. */
export function restartBackoff(random: () => number): Backoff {
  let failures = 0
  return {
    next: (upMs) => {
      failures = upMs >= PROVEN_MS ? 1 : failures + 1
      return backoffMs(BETWEEN_STARTS, failures, random)
    },
    reset: () => {
      failures = 0
    },
  }
}

/** How long it is told why a radio was started anew, ms. */
const AGAIN_TOLD_MS = 3_600_000

/** When a radio may be started after the one before, and why there was one before. Times are monotonic, ms. */
class NextStart {
  readonly #backoff: Backoff
  readonly #now: () => number
  #atMs = 0
  /** Why the process before was ended, or ended by itself, while it should have gone on. */
  #again: { readonly why: string; readonly atMs: number } | undefined
  #hasFailed = false

  constructor(backoff: Backoff, now: () => number) {
    this.#backoff = backoff
    this.#now = now
  }

  /** How long to wait yet; not above 0 when it may be now. */
  get waitMs(): number {
    return this.#atMs - this.#now()
  }

  /** Why the radio was started anew in the last hour. */
  get again(): string | undefined {
    if (this.#again === undefined || this.#now() - this.#again.atMs > AGAIN_TOLD_MS) return undefined
    return this.#again.why
  }

  /** Whether the one before was not to end. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** A person has acted: the next start waits for nothing that was before. */
  reset(): void {
    this.#backoff.reset()
    this.#atMs = 0
    this.#again = undefined
    this.#hasFailed = false
  }

  /** The radio is to be another one: it is started at once. */
  changed(why: string): void {
    this.#again = { why, atMs: this.#now() }
    this.#atMs = 0
    this.#hasFailed = false
  }

  /** The radio has failed after it was on air for `upMs`. */
  failed(why: string, upMs: number): void {
    this.#again = { why, atMs: this.#now() }
    this.#hasFailed = true
    this.#atMs = this.#now() + this.#backoff.next(upMs)
  }
}

const CONVERGED: Outcome = { state: 'converged' }
/** What was asked for has changed on the way. */
const AGAIN: Outcome = { state: 'pending', afterMs: 50, reason: 'what is asked for has changed' }
/** Another copy of the plugin does it. */
const STILL: Outcome = {
  state: 'pending',
  afterMs: 1_000,
  reason: 'the plugin is about to be reloaded',
}

/** Something else than the radio is in the way (lock, launcher, files): looked at again after, ms. */
const BLOCKED_MS = 5_000
const GONE_POLL_MS = 10

/**
 * Keeps on air exactly what the gate permits: one process, or none.
 *
 * `step` is level-based: it asks the gate, looks at the process and does what is missing. A stop counts `#generation` up
 * before anything else; a start that began before it never gets to the point where its process is made.
 */
export class Supervisor {
  /** Kills what an earlier run of the service has left behind. Throws `southbound_unavailable` when that fails. */
  readonly sweep: () => Promise<void>
  readonly #orphans: OrphanSweep
  readonly #context: Context
  /** Absolute path of the folder of the radio. */
  readonly directory: string
  readonly #events: SupervisorEvents
  readonly #next: NextStart
  #generation = 0
  #running: RunningRadio | undefined
  readonly #gate: GateQuestion
  readonly #inTurn = createTurns()
  #isClosed = false
  #isHeld = false
  #restarts = 0
  /** The state that the last wake was for. */
  #shown = ''
  /** Why the last attempt came to nothing. */
  #problem: string | undefined
  #lastExit: ExitClass | undefined
  readonly #refusal: Refusal
  /** Until then nothing is started or restarted: a new copy of this plugin comes. */
  #stillUntilMs = 0

  constructor({ context, directory, events, backoff }: SupervisorOptions) {
    this.#context = context
    this.directory = directory
    this.#orphans = orphanSweep(context, directory)
    this.sweep = this.#orphans.run
    this.#events = events
    this.#next = new NextStart(backoff ?? restartBackoff(Math.random), () => this.#now())
    this.#gate = gateQuestion(context)
    this.#refusal = new Refusal(context.log)
  }

  /** What it knows now. */
  snapshot(): RadioSnapshot {
    const running = this.#running
    const common = {
      desired: this.#gate.desired,
      restarts: this.#restarts,
      again: this.#next.again,
      hasFailed: this.#next.hasFailed,
      leftBehind: this.#orphans.failure,
    }
    const isDeviceMissed = this.#lastExit === 'device'
    if (running !== undefined) {
      const facts = running.process.facts()
      const stall = stallOf(running, this.#now())
      const state = stateOf(facts, running.process.isHalting, stall !== undefined)
      const loss = state === 's1_up' ? undefined : facts.lossReason
      const problem = running.fault ?? this.#refusal.reason ?? stall ?? loss
      const isDeviceGone = isDeviceMissed && !facts.isStarted
      return { ...common, ...runningOf(running), state, facts, problem, isDeviceGone }
    }
    const isOff = this.#gate.desired?.isOn !== true || this.#isHeld
    const problem = this.#refusal.reason ?? this.#problem
    const idle = this.#refusal.reason === undefined ? 'waiting' : 'refused'
    return { ...common, ...NOTHING_RUNS, state: isOff ? 'off' : idle, problem, isDeviceGone: isDeviceMissed }
  }

  /** The process that runs now, for those who watch it more closely. */
  get running(): RunningRadio | undefined {
    return this.#running
  }

  /** Asks the gate and does what is missing. One call at a time; others wait. */
  step(): Promise<Outcome> {
    return this.#inTurn(() => this.#step())
  }

  /** Asks the gate for what is shown. */
  refresh(): Promise<void> {
    return this.#gate.refresh()
  }

  /** Whether a radio was started and has ended, and nothing else of this box can be on air. */
  isSilent(): boolean {
    return this.#lastExit !== undefined && this.#running === undefined && this.#orphans.failure === undefined
  }

  /** Forgets a refusal, since a person has acted: the next step tries once more. */
  reconsider(): void {
    this.#refusal.forget()
    this.#events.wake()
  }

  /** Starts and restarts nothing for so long, ms. A closed gate is obeyed meanwhile. */
  beStill(ms: number): void {
    this.#stillUntilMs = this.#now() + ms
  }

  /** Off the air, confirmed, when it resolves; rejects with `southbound_unavailable` when it cannot be confirmed. */
  async stop(haste: Haste = 'urgent'): Promise<void> {
    this.#generation += 1
    this.#next.reset()
    const beganMs = this.#context.clock.monotonicMs()
    const halted = this.#halt(haste)
    await Promise.all([halted, this.sweep()])
    this.#refusal.forget()
    this.#events.stopped((this.#context.clock.monotonicMs() - beganMs) / 1_000)
  }

  /** As `stop`, and off it stays until `resume` or until the gate has been seen closed. */
  async hold(): Promise<void> {
    this.#isHeld = true
    await this.stop()
  }

  /** Takes `hold` back. */
  resume(): void {
    this.#isHeld = false
  }

  /** Ends and starts the radio again, for a reason that the health shows meanwhile. */
  async restart(reason: string): Promise<void> {
    const running = this.#running
    if (running === undefined || running.process.isHalting) return
    this.#context.log.warn({ reason }, 'radio is restarted')
    this.#problem = reason
    this.#next.failed(reason, 0)
    await running.process.halt('orderly')
  }

  /** Stops for good: nothing is started afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.stop()
  }

  async #step(): Promise<Outcome> {
    const generation = this.#generation
    await this.sweep()
    const desired = await this.#ask()
    if (!desired.isOn) {
      this.#isHeld = false
      this.#problem = undefined
      this.#refusal.forget()
      this.#next.reset()
      await this.#halt('urgent')
      return CONVERGED
    }
    if (this.#isHeld || this.#isClosed) return CONVERGED
    // Whatever comes of the one that is asked for: another one that runs is not permitted any more.
    if (this.#running !== undefined && !isSameCarrier(this.#running.start, desired))
      await this.#halt('urgent')
    const due = this.#running && overdue(this.#running, this.#now())
    if (due?.fault !== undefined) this.#running?.condemn(due.fault)
    if (this.#now() < this.#stillUntilMs) return STILL
    const start = await this.#plan(desired)
    if (start === undefined) return CONVERGED
    this.#refusal.forgetUnless(start.fingerprint)
    const running = this.#running
    if (running !== undefined) return this.#look(running, start)
    if (this.#refusal.reason !== undefined) return CONVERGED
    const { waitMs } = this.#next
    if (waitMs > 0) return { state: 'pending', afterMs: waitMs, reason: 'waits before the next start' }
    return this.#start(start, desired, generation)
  }

  async #ask(): Promise<DesiredRadio> {
    try {
      return await this.#gate.ask()
    } catch (error) {
      if (this.#gate.isSilent()) {
        this.#problem = 'the TX gate cannot be asked, which counts as closed'
        await this.#halt('urgent')
      }
      throw error
    }
  }

  /** The start that is asked for; undefined when it must not be, with the reason kept. A running one stays then. */
  async #plan(desired: Extract<DesiredRadio, { isOn: true }>): Promise<RadioStart | undefined> {
    try {
      return await radioStart(this.#context, desired, this.directory)
    } catch (error) {
      if (!isServiceError(error) || error.code !== validationFailed.code) throw error
      this.#refusal.unusable(error.message)
      return undefined
    }
  }

  /** A running radio against what is asked for and what only another start mends. */
  async #look(running: RunningRadio, start: RadioStart): Promise<Outcome> {
    if (running.start.fingerprint !== start.fingerprint || running.start.isVirtual !== start.isVirtual) {
      this.#next.changed('its configuration has changed')
      await this.#halt('orderly')
      return AGAIN
    }
    const { process: radio, progress } = running
    if (radio.facts().isStarted) progress.look(radio.pid, this.#now())
    const due = overdue(running, this.#now())
    if (due?.restart !== undefined) await this.restart(due.restart)
    return CONVERGED
  }

  async #start(
    start: RadioStart,
    desired: Extract<DesiredRadio, { isOn: true }>,
    generation: number,
  ): Promise<Outcome> {
    let means: Awaited<ReturnType<typeof prepareStart>>
    try {
      means = await prepareStart(start, this.#context.clock)
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error)
      return { state: 'pending', afterMs: BLOCKED_MS, reason: this.#problem }
    }
    let isLaunched = false
    try {
      const again = await this.#ask()
      // Nothing is awaited from here to the process: a disarm that came before is seen in the generation, one that
      // comes later finds the process and kills it.
      if (generation !== this.#generation || this.#isClosed || !again.isOn) return AGAIN
      if (this.#now() < this.#stillUntilMs) return STILL
      if (!isSameCarrier(again, desired) || again.isVirtual !== desired.isVirtual) return AGAIN
      this.#running = means.launch({
        changed: () => this.#changed(),
        faulty: (fault) => this.#refusal.refuse(start.fingerprint, fault),
        exited: (exit, upMs) => this.#exited(start, exit, upMs),
      })
      isLaunched = true
      this.#restarts += 1
      this.#problem = undefined
      this.#events.started(start)
      return CONVERGED
    } finally {
      if (!isLaunched) await means.release()
    }
  }

  /** Each line of the program can change a fact; only another state is worth a step. */
  #changed(): void {
    const { state, facts } = this.snapshot()
    const shown = `${state} ${facts?.hasGivenUp === true}`
    if (shown === this.#shown) return
    this.#shown = shown
    this.#events.wake()
  }

  #exited(start: RadioStart, exit: RadioExit, upMs: number): void {
    const { program } = start.command
    const running = this.#running
    this.#running = undefined
    const kind = exitClass(program, exit)
    this.#lastExit = kind
    const text = running?.fault ?? exitText(program, kind, exit)
    if (running?.fault === undefined && !isRetried(kind)) this.#refusal.refuse(start.fingerprint, text)
    if (kind !== 'stopped') {
      this.#problem = text
      this.#next.failed(text, upMs)
    }
    this.#events.exited(kind, text)
    this.#events.wake()
  }

  async #halt(haste: Haste): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    await running.process.halt(haste)
    // The process is gone; what it held is given back a moment later.
    const endMs = this.#now() + 2_000
    while (this.#running === running) {
      if (this.#now() > endMs) throw southboundUnavailable('the end of the radio is not known to the driver')
      await wait(GONE_POLL_MS)
    }
  }

  #now(): number {
    return this.#context.clock.monotonicMs()
  }
}

/** What happens to a radio, for metrics and log. */
interface SupervisorEvents {
  /** Something to look at soon. */
  wake(): void
  started(start: RadioStart): void
  exited(kind: ExitClass, text: string): void
  stopped(seconds: number): void
}

/** How a supervisor is made. `random` gives 0 (inclusive) to 1 (exclusive). */
interface SupervisorOptions {
  readonly context: Context
  /** Absolute path of the radio's own directory. */
  readonly directory: string
  readonly events: SupervisorEvents
  readonly backoff?: Backoff
}

/** Makes a sweep that has done nothing yet. */
function orphanSweep(context: Pick<Context, 'settings' | 'log'>, directory: string) {
  let hasSwept = false
  let failure: string | undefined
  const sweep = async (): Promise<number> => {
    const ended = await endOrphans(directory)
    const { ran, hss } = context.settings
    if (ran.container === '') return ended
    return (await endContainer(radioContainer(hss.engine_socket, ran.container))) ? ended + 1 : ended
  }
  return {
    get failure() {
      return failure
    },
    /**
     * Kills processes of this directory, and what runs in the container. Does nothing once that was done.
     *
     * Throws `southbound_unavailable` when it cannot be confirmed; then the next call tries.
     */
    run: async (): Promise<void> => {
      if (hasSwept) return
      try {
        const ended = await sweep()
        hasSwept = true
        failure = undefined
        if (ended > 0)
          context.log.warn({ radios: ended }, 'radio of an earlier run was still there and has been killed')
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error)
        throw error
      }
    },
  }
}

type OrphanSweep = ReturnType<typeof orphanSweep>
