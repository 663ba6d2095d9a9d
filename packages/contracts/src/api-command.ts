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
  /** Method and path as the OpenAPI document has them: `POST /v1/alerts/{id}/ack`. */
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
  /** What is said on standard error afterwards. */
  readonly note?: CommandNote
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
  /** What it takes; any text when absent. `list`: several, or with commas; `ahead`: a duration, sent as the time that is so far ahead. */
  readonly takes?: 'count' | 'list' | 'ahead'
  readonly choices?: readonly string[]
  /** What stands for it when it is not given. */
  readonly default?: string
  /** The choice for which nothing is sent. */
  readonly unsent?: string
  /** What a flag says; true when absent. */
  readonly value?: unknown
}

/** A sentence for whoever reads along: always, or when the answer holds this. */
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
