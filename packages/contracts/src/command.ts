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

/** What a module of commands exports as `commands`: what each does, by its words, `notes add`. */
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

/** Words of `svc` that stand before others: `alert`, and what its commands are about. */
export interface CommandGroup {
  readonly group: string
  readonly summary: string
}

/**
 * A command of `svc` that is one operation of the API, as data: what is typed becomes its request, its answer is shown. Each has the options
 * of the connection and `--json`; a list that comes in pages has `--limit`.
 */
export interface ApiCommand<Operation extends string = string> {
  /** Its words and its arguments: `alert ack <alert>`; `[text]` may be absent, `<ids...>` are several. */
  readonly usage: string
  readonly summary: string
  /** What it was called in release 0.2.0; works until the release after the next. */
  readonly earlier?: string
  /** Method and path as the OpenAPI document has them: `POST /v1/sims/{imsi}/label`. */
  readonly operation: Operation
  /** Of arguments, what their names do not say. */
  readonly arguments?: Readonly<Record<string, CommandArgument>>
  /** By their flags, `--rule <rule>`; a text is the summary of one of which nothing else is to be said. */
  readonly options?: Readonly<Record<string, string | CommandOption>>
  /** Exactly one of the options and of the arguments that may be absent is given; what is said otherwise. */
  readonly exactlyOne?: string
  /** What the body holds whatever is typed. */
  readonly body?: Readonly<Record<string, unknown>>
  /** The answer is a list, shown as a table. Otherwise it is a record, shown as names and values. */
  readonly list?: CommandList
  /** What is shown where the operation answers nothing: `{name}` is the argument of that name. */
  readonly shows?: Readonly<Record<string, unknown>>
  /** What is said on standard error afterwards: of several, the first that holds. */
  readonly note?: CommandNote | readonly CommandNote[]
  /** The exit code is 1 unless the answer holds this. */
  readonly expects?: Readonly<Record<string, unknown>>
}

/** Where a value goes in the request. */
interface CommandValue {
  /**
   * `path.imsi`, `query.state`, `body.profile_id`. Absent: by its own name, dashes as underscores, into the path where that has the name,
   * else into the query of a GET and the body of the others.
   */
  readonly to?: string
}

/** An argument. */
export interface CommandArgument extends CommandValue {
  /** What it looks like: anything else is refused before it is sent. */
  readonly pattern?: string
  /** What is said of a value that does not: `{value}` is the value, where it may be repeated. */
  readonly refusal?: string
  /** The list of the service whose field completes it. */
  readonly values?: { readonly path: string; readonly key: string; readonly field: string }
  /** It is the name of one of a list, whatever its capitals; what is sent is its id. */
  readonly named?: CommandNames
}

/** A list of which one is meant by its name. */
export interface CommandNames {
  /** It comes in pages, and its rows have `id` and `name`. */
  readonly operation: string
  readonly key: string
  /** The error when there is none: its code, its message (`{value}` is the name) and what to do. */
  readonly code: string
  readonly missing: string
  readonly hint: string
}

/** An option. */
export interface CommandOption extends CommandValue {
  readonly summary: string
  /**
   * What it takes; any text when absent. `count`: a whole number above 0; `number`: any; `list`: several, or with commas; `ahead`: a
   * duration, sent as the time that is so far ahead.
   */
  readonly takes?: 'count' | 'number' | 'list' | 'ahead'
  readonly choices?: readonly string[]
  /** What stands for it when it is not given. */
  readonly default?: string
  /** The choice for which nothing is sent. */
  readonly unsent?: string
  /** What a flag says, true when absent; or what `--wait [duration]` says when it stands alone. */
  readonly value?: unknown
}

/** A sentence for whoever reads along: always, or when the answer holds this, `provisioning.status` one inside another. */
export interface CommandNote {
  readonly says: string
  readonly when?: Readonly<Record<string, unknown>>
}

/** A list and its columns. */
export interface CommandList {
  /** Its name in the answer. */
  readonly key: string
  /** Whether it comes whole, in one answer without `next_cursor`. */
  readonly isWhole?: boolean
  /** Asked where no row comes, since that may have a reason: what is said when the answer holds so. */
  readonly whenEmpty?: CommandNote & { readonly operation: string }
  /** A text is the name of a field, in capitals its title. */
  readonly columns: readonly (string | CommandColumn)[]
}

/** One column of a table. */
export interface CommandColumn {
  /** The field in capitals when absent, underscores as blanks. */
  readonly title?: string
  /**
   * A field, `provisioning.status` one inside another, `last_endpoint|endpoint` the first that says anything; or a text of several:
   * `{principal.kind}:{principal.name}`.
   */
  readonly value: string
  /** Times are shortened anyway. `day`: to their date; `bytes`: a number of octets as people read it. */
  readonly as?: 'day' | 'bytes'
  /** What stands for a value, by the value as text: `{ "true": "root" }`. */
  readonly words?: Readonly<Record<string, string>>
  /** Where lines are too long: `whole` stays as it is (identifiers), `wrap` goes on below (sentences). Cut when absent. */
  readonly fit?: 'whole' | 'wrap'
  /** Where lines are too long, the column is left out if this is all that it says. */
  readonly usual?: string
}
