import type { CommandEntry } from './commands/api-commands.ts'

/**
 * What the command line has for one optional package of a build: `parts/<name of the package>.ts`. In a build without the
 * package that file is empty, and nothing that it alone loads is there.
 */
export interface Part {
  /** Its commands, and those that stand amid `svc sim`. */
  readonly commands?: readonly CommandEntry[]
  readonly simCommands?: readonly CommandEntry[]
  /** Lists of the service that its arguments take their values from, by kind, for completion. */
  readonly values?: Readonly<Record<string, ValueList>>
  /** Names of arguments, by the kind of the values that they take. */
  readonly arguments?: Readonly<Record<string, string>>
}

/** A list of the service and which of its fields completes a word. */
export interface ValueList {
  readonly path: string
  /** The key of the list in the answer. */
  readonly key: string
  readonly field: string
}
