declare const brand: unique symbol

/**
 * A string or number that only its own parser gives out, so that ids of two kinds are never mixed up.
 *
 * The mark exists for the type checker alone.
 */
export type Branded<Value extends string | number, Name extends string> = Value & {
  readonly [brand]: Name
}
