import type { RunsOn, Settings } from '@steeple/contracts'
import type { Leadership, Term } from './leadership.ts'

/** What of periodic work and reconciling this instance does now. */
export interface Places {
  runsHere(runs: RunsOn): boolean
  /** The present term of this instance; undefined while another leads. */
  term(): Term | undefined
}

/** Whether the radio and the core are this instance's: both names are empty where there is one instance. */
export function isMachine({ cluster }: Pick<Settings, 'cluster'>): boolean {
  return cluster.instance === cluster.machine
}

/** The places of an instance. */
export function placesOf(leadership: Pick<Leadership, 'term'>, settings: Pick<Settings, 'cluster'>): Places {
  return {
    term: () => leadership.term(),
    runsHere: (runs) => {
      if (runs === 'each') return true
      return runs === 'machine' ? isMachine(settings) : leadership.term() !== undefined
    },
  }
}
