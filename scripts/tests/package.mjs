// The `test` script of every package: runs its files that start no program and leaves the count in test-results.json,
// which turbo keeps and brings back. Reads the package from the directory that it runs in. With `beside`, its `test-beside` script,
// it runs those that load the builds of other plugins beside it, *.beside.test.ts, and leaves test-results-beside.json.
import { rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { isBesideOthers, resultsFile, testFiles } from './files.mjs'
import { runShared } from './processes.mjs'
import { makeReport } from './report.mjs'

/** From so many files on two workers share them where a processor is free. */
const MANY_FILES = 12

// As in run-tests.mjs.
process.umask(0o022)
const name = basename(process.cwd())
const isBeside = process.argv[2] === 'beside'
const files = testFiles(name, { isE2e: false }).filter((file) => isBesideOthers(file) === isBeside)
const results = resultsFile(isBeside)
const { total, report } = makeReport()
rmSync(results, { force: true })
if (files.length > 0) await runShared(name, files, files.length < MANY_FILES ? 1 : 2, report)
writeFileSync(results, `${JSON.stringify(total)}\n`)
process.exit(total.failed === 0 ? 0 : 1)
