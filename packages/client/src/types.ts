import type { Operations } from './api.ts'

/** A method of the API. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The paths that have a method, as the document writes them: `/v1/sims/{imsi}`. */
export type PathOf<M extends Method> = keyof Operations extends infer Key
  ? Key extends `${M} ${infer Path}`
    ? Path
    : never
  : never

type Op<M extends Method, P extends string> = `${M} ${P}` extends keyof Operations
  ? Operations[`${M} ${P}`]
  : never

/** What an operation answers when it succeeds. */
export type AnswerOf<M extends Method, P extends PathOf<M>> = Op<M, P>['answer']

/** The codes of errors that an operation documents. */
export type CodeOf<M extends Method, P extends PathOf<M>> = Op<M, P>['code']

/** What a request of an operation holds: `path`, `query`, `ifMatch`, `body`, each where it has one. */
export type RequestOf<M extends Method, P extends PathOf<M>> = Op<M, P>['request']

/** The paths of lists that come in pages. */
export type PagedPath = {
  [Key in keyof Operations]: Operations[Key] extends { readonly list: string }
    ? Key extends `GET ${infer Path}`
      ? Path
      : never
    : never
}[keyof Operations]

/** One row of a list that comes in pages. */
export type ItemOf<P extends PagedPath & PathOf<'GET'>> =
  Op<'GET', P> extends { readonly list: infer List; readonly answer: infer Page }
    ? List extends keyof Page
      ? NonNullable<Page[List]> extends readonly (infer Item)[]
        ? Item
        : never
      : never
    : never

/** What any call may say beside what its operation takes. */
export interface CallOptions {
  /** Ends the call and its further tries; it rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Ms that one try may take until the head of the answer; those of the client when absent. */
  readonly timeoutMs?: number
  /** Tries after the first one, where they are safe; those of the client when absent. */
  readonly retries?: number
  /** The key of a change; one is drawn when absent. The same key with the same request changes nothing twice. */
  readonly idempotencyKey?: string
  /** The `etag` of what is here already: status 304 and no data when it still holds. */
  readonly ifNoneMatch?: string
  /** Further headers, `Accept` for instance. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A code of this client's own, for what no answer of the service says. */
export type ClientCode =
  /** No connection, or it was lost before the answer was whole. A change may have been made. */
  | 'connection_lost'
  /** Nothing came within the time. A change may have been made. */
  | 'no_answer_in_time'
  /** Something between here and the service has answered in its place, a reverse proxy for instance. */
  | 'answer_of_another'
  /** 304: what `ifNoneMatch` names still holds. */
  | 'not_modified'

/** One broken rule of a request. */
interface ProblemDetail {
  readonly pointer: string
  readonly message: string
  /** The JSON Schema keyword that is broken, `maximum`, where a schema says it. */
  readonly rule?: string
  /** Its bound, or the type or format that it asks for. */
  readonly limit?: number | string
}

/** What went wrong, as a value. Act on `code`; `message` is for people. */
export interface Problem<Code extends string = string> {
  /** Stable within v1; more may come. */
  readonly code: Code | ClientCode | (string & {})
  readonly message: string
  /** Each broken rule with where it is: a JSON pointer into the body, or the name of a parameter. */
  readonly details: readonly ProblemDetail[]
  /** 0 when there was no answer. */
  readonly status: number
  /** For the log and the audit trail of the service; undefined when it did not answer. */
  readonly requestId: string | undefined
  /** After how many seconds another try can succeed, where the answer says so. */
  readonly retryAfterS: number | undefined
  /** Where there was no whole answer: what the transport rejected with. */
  readonly cause?: unknown
}

/** An operation that succeeded. */
export interface Success<Data> {
  readonly ok: true
  readonly data: Data
  readonly status: number
  /** For `ifMatch` and `ifNoneMatch`, where the operation has one. */
  readonly etag: string | undefined
  readonly requestId: string | undefined
  /** Whether it is the answer of an earlier request with the same key. */
  readonly isReplayed: boolean
  /** All fields of the answer's head. */
  readonly headers: { get(name: string): string | null }
}

/** An operation that did not. */
export interface Failure<Code extends string = string> {
  readonly ok: false
  readonly error: Problem<Code>
}

/** What a call gives. It rejects for an aborted signal alone. */
export type Result<Data, Code extends string = string> = Success<Data> | Failure<Code>
