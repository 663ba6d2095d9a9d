import { setTimeout as pause } from 'node:timers/promises'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { openSqliteConnections, sqliteBackend } from '../src/sqlite-backend.ts'
import { failure } from '../src/testing.ts'
import { createWriter } from '../src/writer.ts'

const limit = suite('store/job-limit')
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }

limit('undoes a job that waits for something else and lets the next one write', async () => {
  await using dir = await tempDir()
  const path = `${dir.path}/svc.db`
  const backend = sqliteBackend(path, openSqliteConnections(path))
  const writer = createWriter(backend.writer, log)
  await writer.transact((tx) => tx.run('create table toy_item (id text)'))
  const add = 'insert into toy_item (id) values (:id)'
  let late: unknown
  const waiting = writer.transact(async (tx) => {
    await tx.run(add, { id: 'slow' })
    await pause(200)
    late = await failure(() => tx.run(add, { id: 'late' }))
  }, 50)
  const next = writer.transact((tx) => tx.run(add, { id: 'next' }))
  const error = await failure(() => waiting)
  assert.is(error?.code, 'store_unavailable')
  assert.match(error?.message ?? '', /not over after 50 ms/)
  await next
  await eventually(() => assert.instance(late, Error))
  assert.equal(await backend.reader.all('select id from toy_item'), [{ id: 'next' }])
  await writer.close()
  await backend.close()
})

limit.run()
