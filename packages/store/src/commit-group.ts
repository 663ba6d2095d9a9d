import type { Tx } from '@steeple/contracts'
import type { CommitGroup } from './database.ts'

/** The steps that the jobs of one commit have asked for. */
export class PendingGroup implements CommitGroup {
  readonly #steps: ((tx: Tx) => Promise<void>)[] = []

  beforeCommit(step: (tx: Tx) => Promise<void>): void {
    this.#steps.push(step)
  }

  /** Runs the steps in the order they were asked for. */
  async finish(tx: Tx): Promise<void> {
    for (const step of this.#steps) await step(tx)
  }
}
