import type { Clock, Log, NodeIdentity, Plugin } from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import type { Database } from '@steeple/store'

/** What the state of a node consists of, and who works on it. */
export interface StateParts {
  readonly dataDir: string
  readonly keysDir: string
  readonly pluginsDir: string
  /** The file of the store; undefined when it is no file. */
  readonly storeFile: string | undefined
  readonly db: Database
  readonly secrets: Secrets
  readonly identity: NodeIdentity
  readonly clock: Clock
  readonly log: Log
  /** Of the service. */
  readonly version: string
  /** The plugins that run, in the order in which they came; of an installed one the name of its folder. */
  readonly plugins: () => readonly {
    readonly id: string
    readonly plugin: Plugin
    readonly folder?: string
  }[]
  /** Ends the service and starts it anew, soon. */
  readonly restart: () => void
}
