import type { DesiredRadio } from '../supervisor/desired-radio.ts'
import type { CellChannel } from './cell-switch.ts'

/** A cell that is set to another channel than its profile. */
export interface Deviation {
  readonly profileId: string
  readonly wanted: number
  readonly found: readonly number[]
}

/** What is wrong with a cell that reports these channels, for a profile of that one; undefined when nothing is, or nothing is known. */
export function channelProblem(channel: CellChannel | undefined, wanted: number): string | undefined {
  const found = numbersOf(channel)
  return found === undefined || isOnly(found, wanted) ? undefined : channelText({ wanted, found })
}

/** The sentence of it, without its full stop. */
export function channelText({ wanted, found }: Pick<Deviation, 'wanted' | 'found'>): string {
  return `the cell reports channel ${found.join(', ')}, and the profile says ${wanted}: set both the same`
}

/** Compares the channel that a cell reports with the one that the gate has judged. */
export class ChannelWatch {
  #deviation: Deviation | undefined
  #isOfArm = false

  /** The last one that was found, until the cell reports the right channel, or another profile is on. */
  get deviation(): Deviation | undefined {
    return this.#deviation
  }

  /** One that was found since the present arm: a cell without power says nothing of its channel any more. */
  get sinceArm(): Deviation | undefined {
    return this.#isOfArm ? this.#deviation : undefined
  }

  /** What was found counts for no later arm. */
  armEnded(): void {
    this.#isOfArm = false
  }

  /** Takes in what was read. True when it is another verdict than before. */
  look(channel: CellChannel | undefined, desired: DesiredRadio | undefined): boolean {
    const before = this.sinceArm
    const found = numbersOf(channel)
    if (desired?.isOn === true) this.#whileOn(found, desired.profileId, desired.profile.channel)
    else this.#whileOff(found)
    return (before === undefined) !== (this.sinceArm === undefined)
  }

  #whileOn(found: readonly number[] | undefined, profileId: string, wanted: number): void {
    if (found !== undefined) {
      this.#deviation = isOnly(found, wanted) ? undefined : { profileId, wanted, found }
      this.#isOfArm = this.#deviation !== undefined
    } else if (this.#deviation?.profileId !== profileId) this.#deviation = undefined
  }

  #whileOff(found: readonly number[] | undefined): void {
    if (found === undefined || this.#deviation === undefined) return
    const { wanted } = this.#deviation
    this.#deviation = isOnly(found, wanted) ? undefined : { ...this.#deviation, found }
  }
}

function numbersOf(channel: CellChannel | undefined): readonly number[] | undefined {
  return channel === undefined || 'unknown' in channel ? undefined : channel.numbers
}

function isOnly(found: readonly number[], wanted: number): boolean {
  return found.every((one) => one === wanted)
}
