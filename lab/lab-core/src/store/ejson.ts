/** A stored value in MongoDB's canonical Extended JSON: numbers carry their type, since the core reads by type. */
export type Value = string | boolean | null | readonly Value[] | Doc
export interface Doc {
  readonly [field: string]: Value
}

/** A BSON Int32. */
export function int32(value: number): Doc {
  return { $numberInt: String(value) }
}

/** A BSON Int64. */
export function int64(value: bigint): Doc {
  return { $numberLong: String(value) }
}

/** A BSON ObjectId of 24 hex digits. */
export function objectId(hex: string): Doc {
  return { $oid: hex }
}

/** The number of an Int32; undefined for any other type, which the core ignores without a word. */
export function int32Of(value: Value | undefined): number | undefined {
  const text = docOf(value)?.$numberInt
  return typeof text === 'string' ? Number(text) : undefined
}

/** The number of an Int64; undefined for any other type. */
export function int64Of(value: Value | undefined): bigint | undefined {
  const text = docOf(value)?.$numberLong
  return typeof text === 'string' ? BigInt(text) : undefined
}

/** An embedded document; undefined when it is none. */
export function docOf(value: Value | undefined): Doc | undefined {
  return typeof value === 'object' && value !== null && !isList(value) ? value : undefined
}

/** The embedded documents of a list; none for anything else. */
export function docsOf(value: Value | undefined): readonly Doc[] {
  return isList(value) ? value.filter((item): item is Doc => docOf(item) !== undefined) : []
}

/** A text; undefined for any other type. */
export function textOf(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value)
}
