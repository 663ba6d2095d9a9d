import { assert, fakeClock, suite } from '@steeple/testkit'
import { resetPerson } from '../src/offline.ts'
import { nameKey, USERS } from '../src/people/user-store.ts'
import { tokenDb } from './helpers.ts'
import { testVault } from './people-helpers.ts'

/** People of a node whose service does not run. */
const offline = suite('access/offline')

offline(
  'says by the name that was asked for that a person is gone, also where they have gone meanwhile',
  async () => {
    const db = tokenDb()
    const row = {
      ...{
        id: '11111111-2222-4333-8444-555555555555',
        name: 'Ada',
        name_key: nameKey('Ada'),
        roles: '["admin"]',
      },
      ...{ password_hash: 'x', created_at_ms: 0, last_login_at_ms: null },
      created_by: JSON.stringify({ kind: 'cli', id: 'cli', name: 'cli' }),
    }
    await db.write((tx) => USERS.insert(tx, row))
    const place = {
      ...{ reader: db, vault: testVault(), clock: fakeClock(0) },
      ...{ identity: { name: 'box' }, principal: { kind: 'cli', id: 'cli', name: 'cli' } },
      mutate: async (_action: string, _target: string, work: (tx: never) => Promise<unknown>) =>
        await db.write(async (tx) => {
          await USERS.remove(tx, { id: row.id })
          return await work(tx as never)
        }),
    }
    const refusal = async (): Promise<string> => await resetPerson(place as never, 'ada').then(String, String)
    const [meanwhile, before] = [await refusal(), await refusal()]
    assert.match(meanwhile, 'ada')
    assert.is(meanwhile, before)
  },
)

offline.run()
