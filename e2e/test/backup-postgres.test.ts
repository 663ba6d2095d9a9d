import { assert, suite, tempDir } from '@steeple/testkit'
import pg from 'pg'
import { bareService, issueSims, restoreBackup, simsOf, takeBackup, verifyAudit } from '../harness/backups.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { addPerson, enter } from '../harness/people.ts'

const test = suite('e2e/backup-postgres', { limitMs: 1_200_000 })

const COLUMNS = `select table_name, column_name, data_type, is_nullable, column_default
  from information_schema.columns where table_schema = current_schema() order by 1, 2`
const INDEXES = `select replace(indexdef, current_schema() || '.', '') as text from pg_indexes
  where schemaname = current_schema() order by 1`
const TRIGGERS = `select event_object_table, trigger_name, event_manipulation from information_schema.triggers
  where trigger_schema = current_schema() order by 1, 2, 3`
const CONSTRAINTS = `select conrelid::regclass::text as of, contype, pg_get_constraintdef(oid) as text from pg_constraint
  where connamespace = to_regnamespace(current_schema()) order by 1, 2, 3`

/** What a schema is made of, and not what it holds: a line for each part. */
async function shapeOf(url: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const lines: string[] = []
    // In a file a number has one size; what comes from one has room for the largest.
    for (const sql of [COLUMNS, INDEXES, TRIGGERS, CONSTRAINTS])
      for (const row of (await client.query<Record<string, unknown>>(sql)).rows)
        lines.push(
          Object.values(row)
            .join(' ')
            .replace(/ integer /, ' bigint '),
        )
    return lines
  } finally {
    await client.end()
  }
}

if (PG_URL === '') {
  process.stdout.write('needs SVC_TEST_PG_URL\n')
  test('is tried where there is a PostgreSQL', () => {})
} else {
  test('a store in a file goes to PostgreSQL and back, and is the same store in both', async () => {
    await using dir = await tempDir()
    const [schema, fresh] = [await ownSchema(), await ownSchema()]
    const env = { SVC_STORE_URL: schema.url }
    const file = await bareService()
    await issueSims(file, 6)
    await addPerson(file, 'ada', ['viewer'])
    const { body: made } = await file.request('POST', '/v1/tokens', {
      body: { name: 'desk', roles: ['viewer'] },
    })
    const first = await takeBackup(file)
    await file.stop()

    const onPostgres = await restoreBackup(
      await bareService({ dataDir: `${dir.path}/postgres`, env }),
      first,
      '?adopt=true',
    )
    assert.is(await simsOf(onPostgres), 6)
    assert.is((await onPostgres.request('GET', '/v1/sims', { token: made.token })).status, 200)
    // Everything that is written goes on: SIMs, people, sessions, the trail.
    await issueSims(onPostgres, 2)
    await enter(onPostgres, await addPerson(onPostgres, 'bob', ['operator']))
    const second = await takeBackup(onPostgres)
    assert.is(await onPostgres.stop(), 0)
    await verifyAudit(`${dir.path}/postgres`, env)

    // A store that PostgreSQL has had from the beginning has the same tables.
    const model = await bareService({ env: { SVC_STORE_URL: fresh.url } })
    await model.stop()
    const [restored, native] = [await shapeOf(schema.url), await shapeOf(fresh.url)]
    const only = {
      restored: restored.filter((line) => !native.includes(line)),
      native: native.filter((line) => !restored.includes(line)),
    }
    assert.equal(only, { restored: [], native: [] })

    const back = await restoreBackup(
      await bareService({ dataDir: `${dir.path}/file` }),
      second,
      '?adopt=true',
    )
    assert.is(await simsOf(back), 8)
    const { body } = await back.request('GET', '/v1/users')
    assert.equal(body.users.map((user: { readonly name: string }) => user.name).toSorted(), ['ada', 'bob'])
    await issueSims(back, 1)
    assert.is(await back.stop(), 0)
    await verifyAudit(`${dir.path}/file`)
    await schema.drop()
    await fresh.drop()
  })
}

test.run()
