import { defineTable, type Migration, type RowStep, rowStep, rowSum, type Table } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { RELEASE_CHECKS, type Release, type Released } from '../../src/conformance/releases.ts'
import { suite } from '../../src/suite.ts'

const releases = suite('testkit/conformance/releases')

interface Note {
  readonly id: string
  readonly text: string
  readonly colour: string | null
}
const FIRST: Migration = {
  id: '0001_note',
  up: ['create table toy_note (id text primary key, text text not null, row_sum bigint not null)'],
}
const COLUMNS = ['id', 'text'] as const
const plain = { id: 'a', text: 'one' }
const RELEASE: Release = {
  version: '1.0.0',
  migrations: [FIRST],
  tables: [{ name: 'toy_note', columns: COLUMNS, key: ['id'] }],
  rows: { toy_note: [{ ...plain, row_sum: rowSum(COLUMNS, plain) }] },
}

function next(table: Table<Note>, more: { rows?: RowStep; first?: Migration; up?: string } = {}): Released {
  const { rows, first = FIRST, up = 'alter table toy_note add column colour text' } = more
  return {
    migrations: [first, { id: '0002_colour', up: [up], ...(rows === undefined ? {} : { rows }) }],
    tables: [table],
  }
}

const tableOf = (...columns: (keyof Note)[]): Table<Note> => defineTable<Note>('toy_note', columns, ['id'])
const GROWN = tableOf('id', 'text', 'colour')
const colours = rowStep(GROWN, 'colour is null', async (tx, rows) => {
  for (const row of rows) await GROWN.put(tx, { ...row, colour: 'grey' })
})

async function failing(plugin: Released): Promise<readonly string[]> {
  const failed: string[] = []
  for (const [sentence, check] of RELEASE_CHECKS)
    await check(plugin, RELEASE).catch(() => void failed.push(sentence))
  return failed
}

releases('passes what adds a column, with and without a step over rows', async () => {
  assert.equal(await failing(next(GROWN)), [])
  assert.equal(await failing(next(GROWN, { rows: colours })), [])
})

const WRONG: Readonly<Record<string, Released>> = {
  'a column before the others': next(tableOf('colour', 'id', 'text')),
  'a column in the middle': next(tableOf('id', 'colour', 'text')),
  'a column taken out': next(tableOf('id', 'colour')),
  'a table that is gone': { migrations: [FIRST], tables: [] },
  'an edited migration': next(GROWN, { first: { ...FIRST, up: [`${FIRST.up[0]} `] } }),
  'a column that older code cannot leave out': next(GROWN, {
    up: 'alter table toy_note add column colour text check (colour is not null)',
  }),
  'a step that writes past the sums': next(GROWN, {
    rows: async (tx) => {
      await tx.run("update toy_note set text = 'other'")
      return undefined
    },
  }),
  'a step that removes rows': next(GROWN, {
    rows: async (tx) => {
      await tx.run('delete from toy_note')
      return undefined
    },
  }),
}

for (const [what, plugin] of Object.entries(WRONG))
  releases(`finds ${what}`, async () => {
    assert.ok((await failing(plugin)).length > 0)
  })

releases.run()
