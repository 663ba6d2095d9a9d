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

limit('fails a job that throws before it waits, and takes longer than the limit to undo it', async () => {
  const nothing = async (): Promise<undefined> => undefined
  const session = {
    ...{ failsAsWhole: false, isOpen: () => true, get: nothing, all: async () => [], run: async () => 1 },
    ...{ begin: nothing, commit: nothing, rollback: nothing, mark: nothing, release: nothing },
    undoTo: () => pause(60),
  }
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const writer = createWriter(session, log)
  const error = await failure(() =>
    writer.transact((tx) => {
      tx.run('insert into toy_item (id) values (1)').catch(quiet)
      throw new TypeError('of the job')
    }, 20),
  )
  assert.is(error?.message, 'of the job')
  await writer.close()
  process.off('unhandledRejection', note)
  assert.equal(unhandled, [])
})

limit.run()
