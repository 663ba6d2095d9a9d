import { southboundUnavailable } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import type { Doc, DocumentLink } from '../../src/links/document-link.ts'
import { lineageOf } from '../../src/links/lineage.ts'

const lineages = suite('driver-hss/lineage')

const SUBSCRIBERS = 'subscribers'
const MARKS = 'steeple'
const signal = AbortSignal.timeout(60_000)

/** A database of the two collections that are looked at. */
interface Database {
  readonly link: DocumentLink
  mark: Doc | undefined
  readonly mayUseMarks: boolean
  /** Called in the middle of a write: it was sent and has not landed. */
  duringWrite: (collection: string) => Promise<void>
}

function database(mayUseMarks = true): Database {
  let writes = 0
  const self: Database = {
    mark: undefined,
    mayUseMarks,
    duringWrite: async () => undefined,
    link: {
      pace: { everyMs: 1, awayMs: 1 },
      where: 'a database',
      get writes() {
        return writes
      },
      find: async (collection) => {
        if (collection === SUBSCRIBERS) return [{ _id: 1 }]
        if (!mayUseMarks) throw southboundUnavailable('MongoServerError 13')
        return self.mark === undefined ? [] : [self.mark]
      },
      write: async (collection, ops) => {
        await self.duringWrite(collection)
        const [op] = ops
        if (collection === MARKS && op !== undefined && 'updateOne' in op)
          self.mark = op.updateOne.update.$set as Doc
        writes += 1
        return ops.map(() => undefined)
      },
      count: async () => 1,
      ensureIndex: async () => 'ok',
      drop: async (collection) => {
        if (self.mark === undefined) throw southboundUnavailable('MongoServerError 26')
        if (collection === MARKS) self.mark = undefined
      },
      close: async () => undefined,
    },
  }
  return self
}

const writeOne = async (link: DocumentLink): Promise<void> => {
  await link.write(SUBSCRIBERS, [{ deleteMany: { filter: {} } }], signal)
}

lineages('sees a copy from before a write that came while the turn was made', async () => {
  const db = database()
  const { look } = lineageOf(db.link, SUBSCRIBERS)
  await writeOne(db.link)
  await look(signal)
  await writeOne(db.link)
  db.duringWrite = async (collection) => {
    if (collection !== MARKS) return
    db.duringWrite = async () => undefined
    await writeOne(db.link)
  }
  await look(signal)
  const copy = db.mark
  await look(signal)
  assert.is(await look(signal), 0)
  db.mark = copy
  assert.is(await look(signal), 1)
})

lineages('sees a copy from before a write that lands after the turn was made', async () => {
  const db = database()
  const { look } = lineageOf(db.link, SUBSCRIBERS)
  await writeOne(db.link)
  await look(signal)
  let copy: Doc | undefined
  db.duringWrite = async (collection) => {
    if (collection === MARKS) return
    await look(signal)
    copy = db.mark
  }
  await writeOne(db.link)
  await look(signal)
  db.mark = copy
  assert.is(await look(signal), 1)
})

lineages('writes nothing into a database that nothing else was written into', async () => {
  const db = database()
  const { look } = lineageOf(db.link, SUBSCRIBERS)
  for (let turn = 0; turn < 3; turn += 1) assert.is(await look(signal), 0)
  assert.equal([db.mark, db.link.writes], [undefined, 0])
  await writeOne(db.link)
  await look(signal)
  assert.is(db.mark?.turn === undefined, false)
  const { writes } = db.link
  db.mark = undefined
  assert.is(await look(signal), 1)
  assert.is(await look(signal), 1, 'it is another one once')
  assert.is(db.link.writes, writes)
})

lineages('leaves no mark behind once it is released, and makes one for the next write', async () => {
  const db = database()
  const { look, release } = lineageOf(db.link, SUBSCRIBERS)
  await writeOne(db.link)
  await look(signal)
  await release(signal)
  assert.is(db.mark, undefined)
  await release(signal)
  assert.is(await look(signal), 0, 'it is the same database')
  assert.is(db.mark, undefined)
  await writeOne(db.link)
  await look(signal)
  assert.not(db.mark === undefined)
})

lineages('looks at the subscribers alone where it may not read a mark', async () => {
  const db = database(false)
  const { look } = lineageOf(db.link, SUBSCRIBERS)
  assert.is(await look(signal), 0)
  assert.is(await look(signal), 0)
})

lineages.run()
