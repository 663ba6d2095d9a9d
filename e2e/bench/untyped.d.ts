// The parts that the benchmarks use of two packages that ship no types.
declare module 'better-sqlite3' {
  interface Statement {
    get(...values: readonly unknown[]): unknown
    all(...values: readonly unknown[]): unknown[]
    run(...values: readonly unknown[]): { readonly changes: number }
  }
  class Database {
    constructor(path: string, options?: { readonly readonly?: boolean })
    prepare(sql: string): Statement
    exec(sql: string): unknown
    pragma(text: string): unknown
    transaction(work: () => void): () => void
    close(): void
  }
  export = Database
}

declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly connections: number
    readonly duration: number
    readonly method: string
    readonly headers?: Record<string, string>
    readonly body?: string
  }
  interface Result {
    readonly '2xx': number
    readonly non2xx: number
    readonly errors: number
    readonly duration: number
    readonly latency: { readonly p50: number; readonly p99: number }
  }
  function autocannon(options: Options): Promise<Result>
  export = autocannon
}
