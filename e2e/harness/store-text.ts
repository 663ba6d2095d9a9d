import Database from 'better-sqlite3'

/** Names of the tables of a store in which a text stands, in a text or in octets. The file must not be in use. */
export function tablesWith(path: string, text: string): readonly string[] {
  const connection = new Database(path, { readonly: true })
  try {
    const tables = connection.prepare("select name from sqlite_master where type = 'table'").all()
    const holds = (name: string): boolean =>
      connection
        .prepare(`select * from ${name}`)
        .all()
        .some((row) => Object.values(row as object).some((value) => isWithin(value, text)))
    return tables.map((table) => String((table as { readonly name: unknown }).name)).filter(holds)
  } finally {
    connection.close()
  }
}

function isWithin(value: unknown, text: string): boolean {
  const searched = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
  return searched.toLowerCase().includes(text.toLowerCase())
}
