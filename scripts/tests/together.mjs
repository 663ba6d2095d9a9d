// Runs the quick tests of many packages in few processes, which load what all of them use once, and leaves the count of each where its
// `test` script takes it (package.mjs). Arguments: `<package>:<hash of its task>` for each.
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { TOGETHER, testFiles } from './files.mjs'
import { runTogether, WORKERS_TOGETHER } from './processes.mjs'
import { endWith, makeReport } from './report.mjs'

// As in run-tests.mjs.
process.umask(0o022)
const hashes = new Map(process.argv.slice(2).map((one) => one.split(':')))
const reports = new Map([...hashes.keys()].map((name) => [name, makeReport()]))
const files = [...hashes.keys()].flatMap((name) => testFiles(name, ['quick']).map((file) => ({ name, file })))
await runTogether(files, WORKERS_TOGETHER, (path, result) =>
  reports.get(basename(path.slice(0, path.indexOf('/test/')))).report(path, result),
)
mkdirSync(TOGETHER, { recursive: true })
for (const [name, { total }] of reports)
  writeFileSync(join(TOGETHER, `${hashes.get(name)}.json`), `${JSON.stringify(total)}\n`)
endWith('', 0)
