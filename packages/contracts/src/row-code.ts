/** What a column may be called where code is made of it. */
const COLUMN = /^[a-z_][a-z0-9_]*$/

/**
 * A function that gives the values of these columns, in their order. Compiled, as the binding of the store does for its rows: looking up
 * each column by its name takes a row of thirty more than a microsecond.
 */
export function valuesReader(columns: readonly string[]): (row: object) => unknown[] {
  // What the text says is what the type says.
  return compiled(`return [${properties(columns).join()}]`) as (row: object) => unknown[]
}

/**
 * A function that copies these columns of a row, and no other. A property that is deleted would turn the row into a hash
 * table, five times as large and slower to read ever after.
 */
export function rowCopier<Row extends object>(columns: readonly (keyof Row & string)[]): (row: Row) => Row {
  const copied = properties(columns).map((property, i) => `${columns[i]}: ${property}`)
  // As above.
  return compiled(`return { ${copied.join()} }`) as (row: Row) => Row
}

/** A function that makes a row of these columns from the values of `all` columns, in their order. */
export function rowMaker<Row extends object>(
  columns: readonly (keyof Row & string)[],
  all: readonly string[],
): (values: readonly unknown[]) => Row {
  properties(columns)
  const made = columns.map((column) => `${column}: row[${all.indexOf(column)}]`)
  // As above.
  return compiled(`return { ${made.join()} }`) as (values: readonly unknown[]) => Row
}

function properties(columns: readonly string[]): readonly string[] {
  const strange = columns.find((column) => !COLUMN.test(column))
  if (strange !== undefined) throw new Error(`${JSON.stringify(strange)} is no name of a column`)
  return columns.map((column) => `row.${column}`)
}

function compiled(body: string): unknown {
  return new Function('row', body)
}
