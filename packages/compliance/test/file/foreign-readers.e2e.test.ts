import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { COLUMN_NAMES, type ExportRow, plainCell } from '../../src/file/csv.ts'
import { newNode, ROWS } from '../support/node.ts'

const test = suite('readers of somebody else')

const PYTHON = `
import csv, json, sys
with open(sys.argv[1], newline='', encoding='utf-8', errors='strict') as f:
    print(json.dumps(list(csv.reader(f, strict=True))))
`
const has = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0
const hasPython = has('python3', '--version')
const hasSqlite = has('sqlite3', '--version')
if (!hasPython || !hasSqlite) process.stdout.write('needs python3 and sqlite3\n')

/** What a reader has to find: header and rows, without the manifest. */
const WANTED: readonly (readonly string[])[] = [COLUMN_NAMES, ...ROWS.map(textsOf)]
function textsOf(row: ExportRow): readonly string[] {
  return COLUMN_NAMES.map((name) => String(row[name] ?? ''))
}
function checkRead(read: readonly (readonly string[])[]): void {
  assert.equal(
    read.slice(0, -1).map((cells) => cells.map(plainCell)),
    WANTED,
  )
  assert.is(read.at(-1)?.[0], 'manifest')
  assert.is(JSON.parse(read.at(-1)?.at(-1) ?? '').rows, ROWS.length)
}

async function withFile(work: (path: string) => void): Promise<void> {
  await using dir = await tempDir()
  const path = join(dir.path, 'file.csv')
  await writeFile(path, await (await newNode()).file(ROWS))
  work(path)
}

if (hasPython)
  test("Python's csv, strict, reads what was written", () =>
    withFile((path) => {
      const { status, stdout, stderr } = spawnSync('python3', ['-c', PYTHON, path], { encoding: 'utf8' })
      assert.is(status, 0, stderr)
      checkRead(JSON.parse(stdout) as readonly (readonly string[])[])
    }))

if (hasSqlite)
  test('the import of SQLite reads what was written, without a word', () =>
    withFile((path) => {
      const commands = ['.mode csv', `.import ${path} file`, '.mode json', 'select * from file;', '']
      const { status, stdout, stderr } = spawnSync('sqlite3', [':memory:'], {
        input: commands.join('\n'),
        encoding: 'utf8',
      })
      assert.equal([status, stderr], [0, ''])
      const rows = JSON.parse(stdout) as readonly Readonly<Record<string, string | null>>[]
      checkRead([COLUMN_NAMES, ...rows.map((row) => COLUMN_NAMES.map((name) => row[name] ?? ''))])
    }))

test('are there, or are said to be missing', () => {
  assert.type(hasPython && hasSqlite, 'boolean')
})

test.run()
