import { createRequire } from 'node:module'

interface Statement {
  all(): readonly Readonly<Record<string, unknown>>[]
}
interface Connection {
  prepare(sql: string): Statement
  close(): void
}

/** Names of the tables of a store in which a text stands, in a text or in octets. The file must not be in use. */
export function tablesWith(path: string, text: string): readonly string[] {
  const Database = createRequire(import.meta.url)('better-sqlite3') as new (
    path: string,
    options: { readonly readonly: boolean },
  ) => Connection
  const connection = new Database(path, { readonly: true })
  try {
    const tables = connection.prepare("select name from sqlite_master where type = 'table'").all()
    const holds = (name: string): boolean =>
      connection
        .prepare(`select * from ${name}`)
        .all()
        .some((row) => Object.values(row).some((value) => isWithin(value, text)))
    return tables.map(({ name }) => String(name)).filter(holds)
  } finally {
    connection.close()
  }
}

function isWithin(value: unknown, text: string): boolean {
  const searched = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
  return searched.toLowerCase().includes(text.toLowerCase())
}
