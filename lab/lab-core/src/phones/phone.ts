import type { LabClock } from '../clock.ts'
import type { Mme, PhonePort } from '../mme/mme.ts'
import type { Usim } from './usim.ts'

/** What a phone does at the moment. `barred`: it was told that its card is no good here, until it is switched on again. */
export type PhoneState = 'off' | 'attaching' | 'connected' | 'idle' | 'detached' | 'barred'

/** How long phones wait, ms. */
export interface PhoneTimers {
  /** For an answer to an attach request. TS 24.301 table 10.2.1. */
  readonly t3410Ms: number
  /** Before the next attempt; five of them, then T3402. */
  readonly t3411Ms: number
  readonly t3402Ms: number
  /** Before it comes back after the network let it go. */
  readonly reattachMs: number
  /** Without traffic until the eNB releases its connection. */
  readonly inactivityMs: number
}

/** The timers of TS 24.301, and an eNB's usual inactivity timer. */
export const REAL_TIMERS: PhoneTimers = {
  t3410Ms: 15_000,
  t3411Ms: 10_000,
  t3402Ms: 720_000,
  reattachMs: 500,
  inactivityMs: 20_000,
}

/** TS 24.301 §5.5.1.2.6: attempts before it waits for T3402. */
const ATTEMPTS = 5

export interface PhoneOptions {
  readonly imsi: string
  readonly imeisv: string
  readonly usim: Usim
  readonly mme: Mme
  readonly clock: LabClock
  readonly timers: PhoneTimers
  /** After each change of its card's memory or its power. */
  readonly changed: () => void
}

/** A phone with a card in it. */
export class Phone implements PhonePort {
  readonly imeisv: string
  /** Set by its owner in the settings of the phone; undefined for whatever the network gives. */
  apn: string | undefined
  readonly #options: PhoneOptions
  #state: PhoneState = 'off'
  #problem: string | undefined
  /** Ends whatever it waits for. */
  #work = new AbortController()
  #quiet = new AbortController()
  /** When it last sent or got something, µs since the epoch. */
  #movedAtUs = 0

  constructor(options: PhoneOptions) {
    this.#options = options
    this.imeisv = options.imeisv
  }

  get state(): PhoneState {
    return this.#state
  }

  /** Why it is not attached; undefined when it is or was not asked to be. */
  get problem(): string | undefined {
    return this.#problem
  }

  get isOn(): boolean {
    return this.#state !== 'off'
  }

  get isAttached(): boolean {
    return this.#state === 'connected' || this.#state === 'idle'
  }

  /** Switches it on: it attaches by itself, as often as it takes. */
  powerOn(): void {
    if (this.isOn) return
    this.#become('detached')
    this.#options.changed()
    this.attach()
  }

  /** Detaches (switch off) and goes dark. */
  powerOff(): void {
    if (!this.isOn) return
    this.detach()
    this.#become('off')
    this.#options.changed()
  }

  /** Attaches now, whatever it was waiting for. Nothing happens when it is attached, off or barred. */
  attach(): void {
    if (this.isAttached || !this.isOn || this.#state === 'barred') return
    const signal = this.#begin()
    void this.#attachUntilDone(signal)
  }

  /** Detaches by itself and stays away until told otherwise. */
  detach(): void {
    this.#begin()
    const wasAttached = this.isAttached
    if (this.isOn) this.#become('detached')
    if (wasAttached) this.#options.mme.detach(this.#options.imsi)
  }

  /** The eNB releases its connection. */
  goIdle(): void {
    if (this.#state !== 'connected') return
    this.#quiet.abort()
    this.#options.mme.release(this.#options.imsi)
    this.#become('idle')
  }

  /** Comes back from idle; false when the network does not know it (any more), which makes it attach anew. */
  serviceRequest(): boolean {
    if (!this.isAttached) return false
    if (this.#options.mme.serviceRequest(this.#options.imsi)) {
      this.#connected()
      return true
    }
    this.#become('detached', 'the network did not know it')
    this.attach()
    return false
  }

  /** Something went over the air: the eNB waits anew before it releases the connection. */
  moved(): void {
    this.#movedAtUs = this.#options.clock.nowUs()
  }

  authenticate(rand: Uint8Array, autn: Uint8Array): ReturnType<PhonePort['authenticate']> {
    const answer = this.#options.usim.authenticate(rand, autn)
    if (answer.kind === 'res') this.#options.changed()
    if (answer.kind === 'mac_failure') this.#problem = 'EMM cause 20: the network does not have its key'
    return answer
  }

  paged(): boolean {
    if (this.#state !== 'idle') return false
    this.#connected()
    return true
  }

  detachRequested(): boolean {
    if (!this.isAttached) return false
    const signal = this.#begin()
    this.#become('detached', 'the network let it go')
    void this.#reattach(signal)
    return true
  }

  async #reattach(signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#options
    await clock.sleep(timers.reattachMs, signal).then(
      () => this.#attachUntilDone(signal),
      () => undefined,
    )
  }

  async #attachUntilDone(signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#options
    try {
      for (let attempt = 1; !(await this.#attempt(signal)); attempt += 1)
        await clock.sleep(attempt % ATTEMPTS === 0 ? timers.t3402Ms : timers.t3411Ms, signal)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  /** Whether it needs no further one. Rejects when it was told something else meanwhile. */
  async #attempt(signal: AbortSignal): Promise<boolean> {
    const { clock, mme, imsi, timers } = this.#options
    this.#become('attaching', this.#problem)
    const given = new AbortController()
    const late = clock.sleep(timers.t3410Ms, AbortSignal.any([signal, given.signal])).then(
      () => given.abort(),
      () => undefined,
    )
    try {
      const answer = await mme.attach(imsi, this, AbortSignal.any([signal, given.signal]))
      signal.throwIfAborted()
      if (answer.kind === 'accepted') {
        this.#connected()
        return true
      }
      const why =
        answer.kind === 'rejected'
          ? `EMM cause ${answer.emmCause}: attach rejected`
          : `${this.#problem ?? 'its answer was wrong'}; authentication rejected`
      // TS 24.301 §5.5.1.2.5, §5.4.2.5: the card is no good until the phone is switched off or gets another.
      const isFinal = answer.kind === 'authentication_reject' || FINAL_CAUSES.has(answer.emmCause)
      this.#become(
        isFinal ? 'barred' : 'detached',
        isFinal ? `${why}; switch it off and on to try again` : why,
      )
      return isFinal
    } catch (error) {
      signal.throwIfAborted()
      if (!given.signal.aborted) throw error
      this.#become('detached', 'the network did not answer its attach request')
      return false
    } finally {
      given.abort()
      await late
    }
  }

  #connected(): void {
    this.moved()
    if (this.#state === 'connected') return
    this.#become('connected')
    this.#quiet.abort()
    this.#quiet = new AbortController()
    void this.#untilQuiet(this.#quiet.signal).catch(() => undefined)
  }

  async #untilQuiet(signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#options
    for (let leftMs = timers.inactivityMs; leftMs > 0; ) {
      await clock.sleep(leftMs, signal)
      leftMs = Math.ceil(timers.inactivityMs - (clock.nowUs() - this.#movedAtUs) / 1000)
    }
    this.goIdle()
  }

  #become(state: PhoneState, problem?: string): void {
    this.#state = state
    this.#problem = problem
  }

  #begin(): AbortSignal {
    this.#work.abort()
    this.#quiet.abort()
    this.#work = new AbortController()
    return this.#work.signal
  }
}

/** EMM causes after which a USIM is invalid: 3 illegal UE, 6 illegal ME, 8 EPS and non-EPS services not allowed. */
const FINAL_CAUSES: ReadonlySet<number> = new Set([3, 6, 8])
