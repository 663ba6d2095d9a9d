import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** The PostgreSQL that tests may use; empty where there is none. */
export const PG_URL: string = process.env.SVC_TEST_PG_URL ?? ''

/** The url of a schema of its own at `PG_URL`, dropped afterwards. */
export async function ownSchema(): Promise<
  { readonly url: string; drop(): Promise<void> } & AsyncDisposable
> {
  const schema = `e2e_${randomBytes(6).toString('hex')}`
  const run = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: PG_URL })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  await run(`create schema ${schema}`)
  const url = new URL(PG_URL)
  url.searchParams.set('options', `-c search_path=${schema}`)
  const drop = (): Promise<void> => run(`drop schema ${schema} cascade`)
  return { url: url.href, drop, [Symbol.asyncDispose]: drop }
}
