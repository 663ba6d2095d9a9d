import type { Principal } from './roles.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'

/** One file of a node's state: `store.db`, `keys/vault.key`, `plugins/hello@1.0.0-0a1b2c3d/index.js`. */
export interface StateFile {
  /** Its name, with slashes; every part is made of letters, digits and `. _ @ + -` and is neither `.` nor `..`. */
  readonly name: string
  /** Octets. */
  readonly size: number
  /** Where it lies until the state is released. */
  readonly path: string
}

/** What a state says of itself. No secret is in it. */
export interface StateFacts {
  readonly nodeId: string
  readonly nodeName: string
  /** Version of the service that took it. */
  readonly version: string
  /** The newest migration of each owner (`kernel`, plugin ids) that had run. */
  readonly schema: Readonly<Record<string, string>>
  /** Rows of each table. */
  readonly counts: Readonly<Record<string, number>>
  /** Whether the key files are in it. */
  readonly hasKeys: boolean
  /** Ms since the epoch. */
  readonly takenAtMs: number
}

/** A consistent copy of the whole state of this node at one moment. */
export interface CapturedState {
  readonly facts: StateFacts
  /** The store first, then the rest by name. */
  readonly files: readonly StateFile[]
  /** Removes the copy. Idempotent. */
  release(): Promise<void>
}

/** On whose word a staged state is put in the place of the present one. */
export interface RestoreOrder {
  readonly principal: Principal
  readonly requestId?: string
  /** Ends the check. */
  readonly signal?: AbortSignal
  /** A state of another node is taken too: this node becomes that one. */
  readonly isAdopting: boolean
}

/** What a staged state holds beside the present one. */
export interface StagedFindings {
  readonly facts: StateFacts
  /** Rows of each table of the present state. */
  readonly present: Readonly<Record<string, number>>
  /** How much of each kind of what is good for one use is closed in it: see `ClosedItems`. */
  readonly closed: Readonly<Record<string, number>>
}

/** A state that is brought in beside the present one, which stays untouched until `commit`. */
export interface StagedState {
  /** Throws `store_unavailable` when the disk has no room for so much: called before the first file. */
  room(bytes: number): Promise<void>
  /**
   * Adds a file; its name as in `StateFile`. Throws `backup_invalid` for a name that no state has, or when it is there
   * already, `store_unavailable` when the disk has no room for it.
   */
  add(name: string, size: number, chunks: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Checks everything (structure and sums of the store, the audit trail, that keys and store belong together, versions)
   * and brings the staged copy up to this version. Throws `backup_invalid`, `backup_version_unsupported`.
   */
  check(facts: StateFacts, order: RestoreOrder): Promise<StagedFindings>
  /**
   * Decides, in one step that holds or does not: the service starts anew and is what was staged. After `check` alone.
   * Resolves before the service ends. What was before is kept in the directory that it gives.
   */
  commit(): Promise<string>
  /** Removes it; does nothing after `commit`. */
  discard(): Promise<void>
}

/** The whole state of this node: store, keys, installed plugins. */
export interface NodeState {
  /** Takes a copy beside the service's work. Rejects with `store_unavailable` when there is no room for it. */
  capture(options: { readonly withKeys: boolean; readonly signal: AbortSignal }): Promise<CapturedState>
  /** Begins to bring a state in. Of two at the same time the second one is refused: `store_unavailable`. */
  stage(): Promise<StagedState>
}
export const nodeStateRef: ServiceRef<NodeState> = serviceRef<NodeState>('kernel.node_state', {
  capture: 'function',
  stage: 'function',
})

/** What has started this service, where that is `bin/launch`: it runs another build of it when the service ends by `relaunch`. */
export interface Launcher {
  /** Where builds lie, and what it is told by. */
  readonly folder: string
  /** The folder there that runs, by its name; `installed`: the build that the launcher itself is part of. */
  readonly running: string
  /** The folder of the build that runs. */
  readonly root: string
  /** Ends the service in order, soon. */
  relaunch(): void
}
export const launcherRef: ServiceRef<Launcher> = serviceRef<Launcher>('kernel.launcher')
