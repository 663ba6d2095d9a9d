/** Statements kept by a connection. Texts are constant, so a service has a few hundred. */
const MOST_STATEMENTS = 1_000

/** Prepared statements by their text; the oldest leaves when there are too many. */
export class StatementCache<Prepared> {
  readonly #prepared = new Map<string, Prepared>()
  readonly #prepare: (sql: string) => Prepared

  constructor(prepare: (sql: string) => Prepared) {
    this.#prepare = prepare
  }

  /** The prepared statement of a text. Throws what preparing throws; then nothing is kept. */
  get(sql: string): Prepared {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const fresh = this.#prepare(sql)
    this.#prepared.set(sql, fresh)
    if (this.#prepared.size > MOST_STATEMENTS) {
      const [oldest] = this.#prepared.keys()
      if (oldest !== undefined) this.#prepared.delete(oldest)
    }
    return fresh
  }
}
