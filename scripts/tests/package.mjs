// The `test` script of every package: runs its quick files and leaves the count in test-results.json, which turbo keeps and
// brings back. Reads the package from the directory that it runs in.
import { rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { RESULTS_FILE, testFiles } from './files.mjs'
import { runShared } from './processes.mjs'
import { endWith, makeReport } from './report.mjs'

/** From so many files on two workers share them where a processor is free. */
const MANY_FILES = 12

// As in run-tests.mjs.
process.umask(0o022)
const name = basename(process.cwd())
const files = testFiles(name, ['quick'])
const { total, report } = makeReport()
rmSync(RESULTS_FILE, { force: true })
if (files.length > 0) await runShared(name, files, files.length < MANY_FILES ? 1 : 2, report)
writeFileSync(RESULTS_FILE, `${JSON.stringify(total)}\n`)
endWith('', total.failed === 0 ? 0 : 1)
