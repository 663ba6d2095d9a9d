import {
  type Context,
  coreDriverRef,
  createTurns,
  messageOf,
  msFromDuration,
  type Outcome,
  southboundUnavailable,
  type Technology,
  untilAborted,
} from '@steeple/contracts'
import { pause } from '@steeple/southbound'
import {
  type DesiredRadio,
  type GateQuestion,
  gateQuestion,
  isSameCarrier,
} from '../supervisor/desired-radio.ts'
import type { RadioState } from '../supervisor/radio-state.ts'
import { ChannelWatch, type Deviation } from './cell-channel.ts'
import type { CellNote } from './cell-note.ts'
import type { CellSwitch } from './cell-switch.ts'
import { type CellLook, type CellVerdict, cellVerdict, type Sighting } from './cell-verdict.ts'
import type { CoreClosing } from './core-closing.ts'

/** How long one answer of switch or core may take, ms. */
const CALL_MS = 5_000
/** How long one stop tries by itself; who waits for it asks again, ms. */
const STOP_MS = 6_500
/** Between two looks of a stop, ms. */
const STOP_POLL_MS = 250
/** A switch that was told is told again only after so long, ms. */
const TOLD_AGAIN_MS = 2_000
/** While it may be on the gate is asked so often, ms. */
const WATCH_MS = 1_000
/** A cell that takes its time to come up is not told to come up again before, ms. */
const STARTS_WITHIN_MS = 10_000
const DEFAULT_POLL_MS = 10_000
/** After an order that may come late, ms. */
const CLOSELY_MS = 60_000

/** What there is to know of the cell, for health and metrics. */
export interface CellSnapshot {
  readonly state: RadioState
  readonly desired: DesiredRadio | undefined
  readonly look: CellLook | undefined
  readonly verdict: CellVerdict
  readonly problem: string | undefined
  /** Why the core cannot be closed to it; undefined while it is, or need not be. */
  readonly openBecause: string | undefined
  /** Told off again by itself: it came back while it was to be off. */
  readonly isIncident: boolean
  /** It is set to another channel than the profile that is, or was, on; `sinceArm` is found since the present arm. */
  readonly deviation: Deviation | undefined
  readonly deviationSinceArm: Deviation | undefined
}

/** What a cell is made of. */
export interface CellParts {
  readonly context: Context
  readonly cell: CellSwitch
  readonly closing: CoreClosing
  readonly note: CellNote
  readonly events: {
    /** Something to look at soon. */
    wake(): void
    started(profileId: string): void
    stopped(seconds: number): void
    /** It is on although it must be off, and was known to be off. */
    cameBack(because: string): void
    /** Whether it is known to be off, or on the channel of its profile, may be another than before. */
    certainty(): void
  }
}

const NOT_LOOKED: CellVerdict = { state: 'unknown', because: 'its switch has not been read yet' }

/** Keeps a cell that runs by itself on while the gate permits it, and proven off otherwise. */
export class ExternalCell {
  readonly #parts: CellParts
  readonly #gate: GateQuestion
  readonly #inTurn = createTurns()
  /** An order to turn on that is on its way. */
  #turning: Promise<unknown> = Promise.resolve()
  #stopping: Promise<void> | undefined
  #generation = 0
  #isHeld = false
  #isClosed = false
  #look: CellLook | undefined
  #verdict: CellVerdict = NOT_LOOKED
  #lookedMs = Number.NEGATIVE_INFINITY
  #signMs: number
  #toldOffMs = Number.NEGATIVE_INFINITY
  #toldOnMs = Number.NEGATIVE_INFINITY
  #closelyUntilMs = Number.NEGATIVE_INFINITY
  #wasProvenOff = false
  /** By the core, since it was turned on. */
  #wasSeen = false
  #isIncident = false
  readonly #channel = new ChannelWatch()
  #problem: string | undefined
  /** Why the last order to turn on was not carried out. */
  #refusal: string | undefined
  #openBecause: string | undefined
  #tries: number | undefined
  #isCoreOpen = false

  constructor(parts: CellParts) {
    this.#parts = parts
    this.#gate = gateQuestion(parts.context)
    this.#signMs = this.#now()
  }

  get technology(): Technology {
    return this.#external.technology
  }

  /** False only when a look of a moment ago has proven it off. */
  get mayBeOn(): boolean {
    return this.#verdict.state !== 'off' || this.#now() - this.#lookedMs > 3 * this.#pollMs + 2 * CALL_MS
  }

  snapshot(): CellSnapshot {
    return {
      state: this.#state(),
      desired: this.#gate.desired,
      look: this.#look,
      verdict: this.#verdict,
      problem: this.#problem ?? this.#refusal,
      openBecause: this.#openBecause,
      isIncident: this.#isIncident,
      deviation: this.#channel.deviation,
      deviationSinceArm: this.#channel.sinceArm,
    }
  }

  /** Asks the gate for what is shown. */
  refresh(): Promise<void> {
    return this.#gate.refresh()
  }

  /** Asks the gate and does what is missing. One call at a time; others wait. */
  step(): Promise<Outcome> {
    return this.#inTurn(() => this.#step())
  }

  /** Proven off when it resolves. Rejects with `southbound_unavailable` when it is not; it is told to go off in this very turn. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#generation += 1
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined
    })
    await untilAborted(this.#stopping, signal)
  }

  /** As `stop`, and off it stays until `resume` or until the gate has been seen closed. */
  async hold(signal: AbortSignal): Promise<void> {
    this.#isHeld = true
    await this.stop(signal)
  }

  /** Takes `hold` back. */
  resume(): void {
    this.#isHeld = false
  }

  /** Stops for good: it is not turned on afterwards. */
  async close(limitMs: number = STOP_MS): Promise<void> {
    this.#isClosed = true
    await this.stop(AbortSignal.timeout(limitMs))
  }

  async #step(): Promise<Outcome> {
    if (this.#stopping !== undefined)
      return { state: 'pending', afterMs: WATCH_MS, reason: 'the cell is told to go off' }
    const generation = this.#generation
    const desired = await this.#ask()
    const isWanted = desired?.isOn === true && !this.#isHeld && !this.#isClosed
    if (desired?.isOn === false) {
      this.#isHeld = false
      if (!desired.isArmed) this.#channel.armEnded()
    }
    if (isWanted) await this.#keepOn(desired, generation)
    else await this.#keepOff()
    const isQuiet = !isWanted && this.#verdict.state === 'off'
    const dueMs = this.#lookedMs + this.#pollMs - this.#now()
    return {
      state: 'pending',
      afterMs: isQuiet ? Math.max(dueMs, WATCH_MS) : WATCH_MS,
      reason: 'the cell is watched',
    }
  }

  /** What the gate permits; undefined while it has been silent for too long, which counts as closed. */
  async #ask(): Promise<DesiredRadio | undefined> {
    try {
      return await this.#gate.ask()
    } catch (error) {
      if (!this.#gate.isSilent()) throw error
      this.#problem = 'the TX gate cannot be asked, which counts as closed'
      return undefined
    }
  }

  async #keepOn(desired: Extract<DesiredRadio, { isOn: true }>, generation: number): Promise<void> {
    this.#isIncident = false
    this.#wasProvenOff = false
    if (this.#isLookDue()) await this.#lookNow()
    // The gate has judged the carrier of the profile, and the cell sends another one.
    if (this.#channel.sinceArm !== undefined) return await this.#keepOff()
    const reading = this.#look?.reading ?? { unknown: NOT_LOOKED.because }
    const sinceToldMs = this.#now() - this.#toldOnMs
    const refreshMs = msFromDuration(this.#external.refresh) ?? 0
    const isRefreshDue = refreshMs > 0 && sinceToldMs >= refreshMs
    if ('unknown' in reading) {
      this.#problem = `its switch does not say what it does: ${reading.unknown}`
      // What was turned on stays on: the timer of its switch would end it.
      if (isRefreshDue && (await this.#parts.note.read()) !== undefined)
        await this.#turnOn(desired, generation)
      return
    }
    this.#problem = undefined
    const isOff = !reading.isOn && sinceToldMs >= STARTS_WITHIN_MS
    if (isOff || isRefreshDue || !this.#isCoreOpen) await this.#turnOn(desired, generation)
  }

  async #turnOn(desired: Extract<DesiredRadio, { isOn: true }>, generation: number): Promise<void> {
    const { note, cell, events } = this.#parts
    await this.#openCore()
    if ((await note.read()) === undefined) await note.write({ wasSeen: false, isClosed: false })
    const again = await this.#gate.ask()
    // Nothing is awaited from here to the order: a stop that came before is seen in the generation, one that comes later waits for it.
    const isMeant = again.isOn && isSameCarrier(again, desired)
    if (generation !== this.#generation || this.#isClosed || this.#isHeld || !isMeant) return
    const isFirst = this.#toldOnMs === Number.NEGATIVE_INFINITY
    this.#toldOnMs = this.#now()
    const turning = cell.turn(true, AbortSignal.timeout(CALL_MS))
    // One that nobody has confirmed may still come: it is looked at more closely for a while.
    this.#turning = turning.catch((error: unknown) => {
      this.#refusal = messageOf(error)
      this.#closelyUntilMs = this.#now() + CLOSELY_MS
    })
    await turning
    this.#refusal = undefined
    if (isFirst) events.started(desired.profileId)
    this.#lookedMs = Number.NEGATIVE_INFINITY
    events.wake()
  }

  /** Off and looked at; on, it is told to go off. */
  async #keepOff(): Promise<void> {
    this.#toldOnMs = Number.NEGATIVE_INFINITY
    this.#refusal = undefined
    this.#wasSeen = false
    if (!this.#isLookDue() && this.#verdict.state === 'off') return
    // What an earlier run knew to be closed says nothing by its absence.
    if (this.#look === undefined && (await this.#parts.note.read())?.isClosed === true)
      await this.#closeCore()
    await this.#lookNow()
    await this.#afterLook()
    if (this.#verdict.state === 'off') return
    if (this.#verdict.state === 'on' && this.#wasProvenOff && !this.#isIncident) {
      this.#isIncident = true
      this.#parts.events.cameBack(this.#verdict.because)
    }
    if (this.#isIncident) {
      await this.#parts.note.write({ wasSeen: true, isClosed: true })
      await this.#closeCore()
    }
    await this.#tellOff()
  }

  /** What a look that found it off means: its time on is over, and the core is closed to it. */
  async #afterLook(): Promise<void> {
    if (this.#verdict.state !== 'off') return
    if ((await this.#parts.note.read()) !== undefined) await this.#parts.note.remove()
    this.#wasProvenOff = true
    this.#isIncident = false
    this.#problem = undefined
    await this.#closeCore()
  }

  async #tellOff(): Promise<void> {
    if (this.#now() - this.#toldOffMs < TOLD_AGAIN_MS) return
    this.#toldOffMs = this.#now()
    try {
      await this.#parts.cell.turn(false, AbortSignal.timeout(CALL_MS))
    } catch (error) {
      this.#problem = messageOf(error)
    }
  }

  async #stop(): Promise<void> {
    const beganMs = this.#now()
    const limit = AbortSignal.timeout(STOP_MS)
    this.#toldOnMs = Number.NEGATIVE_INFINITY
    this.#toldOffMs = Number.NEGATIVE_INFINITY
    const told = this.#tellOff()
    // An order to turn on that is on its way may come behind this one: then it is told once more.
    await Promise.all([
      told,
      this.#turning,
      this.#seenByCore(limit).then((sighting) => this.#noted(sighting)),
    ])
    this.#toldOffMs = Number.NEGATIVE_INFINITY
    for (;;) {
      await this.#lookNow()
      await this.#afterLook()
      if (this.#verdict.state === 'off') break
      if (limit.aborted)
        throw southboundUnavailable(`the cell is not known to be off: ${this.#verdict.because}`)
      const isSwitchOff = this.#look !== undefined && 'isOn' in this.#look.reading && !this.#look.reading.isOn
      if (!isSwitchOff) await this.#tellOff()
      await pause(STOP_POLL_MS, limit).catch(() => undefined)
    }
    this.#channel.armEnded()
    this.#parts.events.stopped((this.#now() - beganMs) / 1_000)
    this.#parts.events.wake()
  }

  #isLookDue(): boolean {
    // One that was turned on is looked for: to have been seen is half the proof that it is off.
    const isLookedFor = this.#toldOnMs > 0 && this.#look?.sighting !== 'seen'
    return this.#now() - this.#lookedMs >= (isLookedFor ? WATCH_MS : this.#pollMs)
  }

  /** Asks switch and core anew. */
  async #lookNow(): Promise<void> {
    const signal = AbortSignal.timeout(CALL_MS)
    const [reading, sighting] = await Promise.all([
      this.#parts.cell.read(signal).catch((error: unknown) => ({ unknown: messageOf(error) })),
      this.#sighting(signal),
    ])
    const noted = await this.#noted(sighting)
    if (sighting === 'seen' || sighting === 'knocking' || ('isOn' in reading && reading.isOn))
      this.#signMs = this.#now()
    const wasMaybeOn = this.mayBeOn
    this.#look = { reading, sighting }
    this.#lookedMs = this.#now()
    this.#verdict = cellVerdict(this.#look, {
      wasOn: noted !== undefined || this.#isIncident,
      wasSeen: noted?.wasSeen === true,
      quietMs: this.#now() - this.#signMs,
    })
    const channel = 'unknown' in reading ? undefined : reading.channel
    const isNews = this.#channel.look(channel, this.#gate.desired)
    if (isNews || this.mayBeOn !== wasMaybeOn) this.#parts.events.certainty()
  }

  /** What is noted of the time before the look, with what it has seen. */
  async #noted(sighting: Sighting): Promise<Awaited<ReturnType<CellNote['read']>>> {
    const noted = await this.#parts.note.read()
    if (noted === undefined || noted.wasSeen || sighting !== 'seen') return noted
    this.#wasSeen = true
    const seen = { ...noted, wasSeen: true }
    await this.#parts.note.write(seen)
    return seen
  }

  /** What the core says. One that is closed to the cell cannot have it; it is listened to who asks for it. */
  async #sighting(signal: AbortSignal): Promise<Sighting> {
    const seen = await this.#seenByCore(signal)
    if (seen === 'seen' || this.#tries === undefined || this.#external.address === '') return seen
    try {
      const tries = await this.#parts.closing.close(this.#external.address, signal)
      const isKnocking = tries > this.#tries
      this.#tries = tries
      return isKnocking ? 'knocking' : 'closed'
    } catch (error) {
      this.#tries = undefined
      this.#openBecause = messageOf(error)
      return seen
    }
  }

  async #seenByCore(signal: AbortSignal): Promise<Sighting> {
    const stations = this.#parts.context.maybe(coreDriverRef)?.stations
    if (stations === undefined) return { unknown: 'there is no core that lists its base stations' }
    const { ran } = this.#parts.context.settings
    const id = this.technology === 'lte' ? ran.enb_id : ran.gnb_id
    try {
      const all = await stations(this.technology, signal)
      const isThere = all.some(
        (one) => one.id === id || (one.address !== undefined && one.address === ran.external.address),
      )
      return isThere ? 'seen' : 'gone'
    } catch (error) {
      return { unknown: messageOf(error) }
    }
  }

  async #closeCore(): Promise<void> {
    const { address } = this.#external
    this.#isCoreOpen = false
    if (address === '') {
      this.#openBecause = 'ran.external.address does not name it'
      return
    }
    try {
      this.#tries = await this.#parts.closing.close(address, AbortSignal.timeout(CALL_MS))
      this.#openBecause = undefined
    } catch (error) {
      this.#openBecause = messageOf(error)
    }
  }

  async #openCore(): Promise<void> {
    if (this.#isCoreOpen) return
    // Without an address nothing has ever been closed by this plugin's settings.
    if (this.#external.address !== '') {
      await this.#parts.closing.open(AbortSignal.timeout(CALL_MS)).catch((error: unknown) => {
        // Where nft may not be used, it has closed nothing.
        if (this.#tries !== undefined) throw error
      })
    }
    this.#tries = undefined
    this.#openBecause = undefined
    this.#isCoreOpen = true
  }

  #state(): RadioState {
    const isWanted = this.#gate.desired?.isOn === true && !this.#isHeld
    if (this.#isIncident) return 'not_permitted'
    if (!isWanted) return this.#verdict.state === 'off' ? 'off' : 'stopping'
    if (this.#look === undefined || 'unknown' in this.#look.reading) return 'stalled'
    if (!this.#look.reading.isOn) return this.#toldOnMs > 0 ? 'starting' : 'waiting'
    if (this.#look.sighting === 'seen') return 's1_up'
    return this.#wasSeen ? 's1_down' : 'radio_up'
  }

  get #external() {
    return this.#parts.context.settings.ran.external
  }

  get #pollMs(): number {
    if (this.#now() < this.#closelyUntilMs) return WATCH_MS
    return msFromDuration(this.#external.poll) ?? DEFAULT_POLL_MS
  }

  #now(): number {
    return this.#parts.context.clock.monotonicMs()
  }
}
