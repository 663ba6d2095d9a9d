import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'
import { listSessions, type SessionFilter } from '../../src/store/session-store.ts'

const listing = suite('sessions/store/listing')

/** What the store does for a page of such a list, in the words of SQLite. */
async function planOf(filter: SessionFilter): Promise<string> {
  const db = memoryDb(MIGRATIONS)
  let plan: readonly { readonly detail: string }[] = []
  const explaining = {
    ...db,
    all: async (sql: string, params: object) => {
      plan = await db.all(`explain query plan ${sql}`, params as never)
      return []
    },
  }
  await listSessions(explaining as never, filter, 51, undefined)
  db.close()
  return plan.map(({ detail }) => detail).join('; ')
}

for (const filter of [
  {},
  { state: 'ended' },
  { state: 'ended', apn: 'internet' },
  { state: 'ended', imsi: 'aaaaaaaaaaaa' },
  { state: 'ended', technology: 'nr' },
])
  listing(`reads no session beside those of its page: ${JSON.stringify(filter)}`, async () => {
    const names = Object.keys(filter).filter((name) => name !== 'state')
    const wanted = [...names, 'is_live'].map((name) => `${name}=\\?`).join(' AND ')
    const plan = await planOf(filter)
    assert.match(plan, new RegExp(`SEARCH sessions_session USING INDEX \\S+ \\(${wanted}\\)`))
    assert.not.match(plan, 'TEMP B-TREE')
  })

listing.run()
