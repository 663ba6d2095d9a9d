// Keeps what a release has made of each bundled plugin's tables, for the tests of every later version: its migrations, its
// lists of columns and some rows. Run once at a release, on the store of a service of that release that was used a while:
//   node scripts/freeze-release.mjs VERSION FOLDER/svc.db
// Rows of a table that is empty there are made up from its columns' types. A file that exists is never written again.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath, pathToFileURL } from 'node:url'

const packages = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages')
const [version, file] = process.argv.slice(2)
if (file === undefined) {
  process.stderr.write('usage: freeze-release.mjs VERSION FOLDER/svc.db\n')
  process.exit(2)
}
const store = new DatabaseSync(file, { readOnly: true })
const { rowSum } = await import(pathToFileURL(join(packages, 'contracts/dist/index.js')).href)
for (const name of readdirSync(packages)) await freeze(name)

async function freeze(name) {
  const entry = join(packages, name, 'dist/plugin.js')
  if (!existsSync(entry)) return
  const { plugin } = await import(pathToFileURL(entry).href)
  if (plugin?.migrations === undefined) return
  const target = join(packages, name, 'fixtures/released', `${version}.json`)
  if (existsSync(target)) throw new Error(`${target} is there; a release is frozen once`)
  const released = {
    version,
    migrations: plugin.migrations.map(({ id, up }) => ({ id, up })),
    tables: plugin.tables.map(({ name: table, columns, key }) => ({ name: table, columns, key })),
    rows: Object.fromEntries(plugin.tables.map((table) => [table.name, rowsOf(table)])),
  }
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, `${JSON.stringify(released, octets, 2)}\n`)
}

function rowsOf({ name, columns }) {
  const listed = [...columns, 'row_sum'].join(', ')
  const rows = store.prepare(`select ${listed} from ${name} order by 1 limit 4`).all()
  if (rows.length > 0) return rows
  const made = {}
  for (const { name: column, type } of store.prepare(`pragma table_info(${name})`).all())
    if (columns.includes(column)) made[column] = madeUp(column, type)
  return [{ ...made, row_sum: rowSum(columns, made) }]
}

function madeUp(column, type) {
  if (type.toLowerCase() === 'text') return `${column} 1`
  if (type.toLowerCase() === 'bytea') return new Uint8Array([1, 2, 3])
  return 1
}

function octets(_key, value) {
  return value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value
}
