import type { ApiCommand, CommandColumn, CommandGroup } from './api-command.ts'
import type { Finding } from './doctor.ts'
import type { JsonSchema } from './json-schema.ts'
import type { AuditTrail } from './services.ts'
import type { Settings } from './settings.ts'

/** A command of `svc` that code of a plugin does: the module's `commands` has it by its words. Nothing of it is loaded before it runs. */
export interface CodeCommand extends Pick<ApiCommand, 'usage' | 'summary' | 'arguments' | 'options'> {
  /** A file of the package: `./dist/commands.js`. */
  readonly module: string
  /** Works on the service's own files, too: `--config` and `--data-dir`; `alone` without the service. */
  readonly here?: 'alone' | 'too'
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
  /** Where the service is, without a path. */
  readonly url: string
  /** The hash of a SIM as it is typed. Throws for anything else, and does not repeat it: it may be an IMSI. */
  simHash(text: string): string
  /** Sends what an operation of the API takes, `GET /v1/notes/{name}`. Throws what the service says against it. */
  call(operation: string, request?: CommandRequest): Promise<Readonly<Record<string, unknown>>>
  /** Rows of a list that comes in pages, `limit` at most. */
  list(operation: string, key: string, limit: number, request?: CommandRequest): Promise<CommandRows>
  /** A file that an operation answers, read by the caller to its end. */
  open(operation: string, request?: CommandRequest): Promise<CommandFile>
  /** The settings that the service would run with here; of a command that is `here`. Throws `config_invalid`. */
  settings(): Promise<Settings>
  /** The same: what can be known here of a node, whether its service runs or not. */
  machine(): Promise<MachineFacts>
  /** Shows a record as names and values, or as JSON. */
  printRecord(record: object): void
  /** Shows rows as a table, or as JSON. */
  printRows(rows: CommandRows, columns: readonly (string | CommandColumn)[]): void
  /** The same as text; `json` ends with a line break, `printable` has nothing that could move the cursor. */
  fields(record: object): string
  table(rows: readonly object[], columns: readonly (string | CommandColumn)[]): string
  json(value: unknown): string
  printable(text: string): string
  /** `1.5 GB`; `-` for what is no number. */
  octets(value: unknown): string
  /** A QR code for the screen. */
  qr(text: string): Promise<string>
  /** The same as the content of a file. */
  qrPicture(text: string, type: 'png' | 'svg'): Promise<string | Uint8Array>
  /** Columns of the screen that standard output is; undefined when it is none. */
  readonly columns: number | undefined
  /** Asks a person line by line; undefined where standard input is no terminal. */
  readonly ask: ((questions: readonly CommandQuestion[]) => Promise<readonly string[]>) | undefined
  /** Does `work`, and tells a person who watches how far it is. */
  progress<T>(what: string, work: () => Promise<T>, far: () => string): Promise<T>
  /** Writes a file of the service, all of it or nothing: to `file`, or as the service calls it, or as `fallback`. */
  save(
    what: string,
    from: CommandFile,
    to: { readonly file: string | undefined; readonly fallback: string },
  ): Promise<{ readonly path: string; readonly bytes: number }>
  /** Writes a file that only its owner can read. */
  writeSecret(file: string, content: string | Uint8Array): Promise<void>
  /** Writes to standard output and standard error. */
  out(text: string): void
  err(text: string): void
  /** Everything on standard input. */
  input(): Promise<string>
  /** The command did its work and the answer is no: the process ends with this code. */
  answer(exitCode: number): void
  /** To be thrown: it was called wrongly (exit code 2), or could not do its work (1). */
  usage(message: string): Error
  failure(code: string, message: string, hint?: string, cause?: Error): Error
  /** To be thrown: a file, or what it is to the command, cannot be read. */
  unreadable(file: string, cause: unknown): Error
}

/** What `call`, `list` and `open` throw. */
export interface CommandFailure extends Error {
  readonly code: string
  /** After so many seconds the service may say yes. */
  readonly retryAfterS: number | undefined
}

/** What is sent, by its parts. */
export interface CommandRequest {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  /** JSON, or `{type, content}` of a file. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A file that comes in pieces. */
export interface CommandFile {
  readonly headers: { get(name: string): string | null }
  readonly body: AsyncIterable<Uint8Array>
}

/** One thing that a person types. What is hidden does not appear on the screen. */
export interface CommandQuestion {
  readonly question: string
  readonly isHidden: boolean
}

/** Rows of a list, and where the next page would begin; null when nothing was left out. */
export interface CommandRows {
  readonly key: string
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly nextCursor: string | null
}

/** What can be known of a node from its files. Each may fail. */
export interface MachineFacts {
  readonly nowMs: number
  readonly version: string
  /** A text without what no log shows. */
  scrub(text: string): string
  config(): Promise<{ readonly schema: JsonSchema; readonly settings: unknown }>
  /** What `svc doctor` finds. */
  checks(): Promise<readonly Finding[]>
  plugins(): Promise<
    readonly { readonly plugin: string; readonly version: string; readonly origin: string }[]
  >
  /** The newest entry of the trail on the disk. */
  audit(): Promise<Awaited<ReturnType<AuditTrail['list']>>>
}
