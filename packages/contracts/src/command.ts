import type { ApiCommand, CommandColumn, CommandGroup } from './api-command.ts'

/** A command of `svc` that code of a plugin does: the module's `commands` has it by its words. Nothing of it is loaded before it runs. */
export interface CodeCommand extends Pick<ApiCommand, 'usage' | 'summary' | 'options'> {
  /** A file of the package: `./dist/commands.js`. */
  readonly module: string
}

/** A command that a plugin adds to `svc`, as its manifest has it. */
export type PluginCommand = CommandGroup | ApiCommand | CodeCommand

/** What a module of commands exports as `commands`: what each does, by its words, `esim issue`. */
export type Commands = Readonly<Record<string, (host: CommandHost) => Promise<void>>>

/** What a command gets: what was typed, the service that was named, and the terminal. */
export interface CommandHost {
  /** By the names of arguments and options, `expiresIn` of `--expires-in`. */
  readonly typed: Readonly<Record<string, unknown>>
  /** `--json`: what is printed is read by a program. */
  readonly isJson: boolean
  /** Of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Sends what an operation of the API takes, `GET /v1/notes/{name}`. Throws what the service says against it. */
  call(operation: string, request?: CommandRequest): Promise<Readonly<Record<string, unknown>>>
  /** Rows of a list that comes in pages, `limit` at most. */
  list(operation: string, key: string, limit: number, request?: CommandRequest): Promise<CommandRows>
  /** Shows a record as names and values, or as JSON. */
  printRecord(record: object): void
  /** Shows rows as a table, or as JSON. */
  printRows(rows: CommandRows, columns: readonly (string | CommandColumn)[]): void
  /** Writes to standard output and standard error. */
  out(text: string): void
  err(text: string): void
  /** Everything on standard input. */
  input(): Promise<string>
  /** The command did its work and the answer is no: the process ends with this code. */
  answer(exitCode: number): void
  /** To be thrown: it was called wrongly (exit code 2), or could not do its work (1). */
  usage(message: string): Error
  failure(code: string, message: string, hint?: string): Error
}

/** What is sent, by its parts. */
export interface CommandRequest {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

/** Rows of a list, and where the next page would begin; null when nothing was left out. */
export interface CommandRows {
  readonly key: string
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly nextCursor: string | null
}
