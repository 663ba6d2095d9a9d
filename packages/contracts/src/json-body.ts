/** The same in every copy of this package: a plugin may bring its own. */
const TEXT: unique symbol = Symbol.for('@steeple/contracts.json-text')

interface JsonBody {
  readonly [TEXT]: string
  toJSON(): unknown
}

/**
 * A body of a reply whose JSON is made already: it goes out as it is, and is not made anew. `text` is one JSON value. Whoever else turns the
 * body into JSON gets the same value.
 */
export function jsonBody(text: string): object {
  const body: JsonBody = { [TEXT]: text, toJSON: () => JSON.parse(text) as unknown }
  return body
}

/** The JSON of a body, as `JSON.stringify` writes it, or as `jsonBody` was given it. Undefined for what has none. */
export function jsonTextOf(body: unknown): string | undefined {
  if (typeof body === 'object' && body !== null && TEXT in body) return String(body[TEXT])
  return JSON.stringify(body)
}
