// The `test` script of every package: runs its quick files and leaves the count in test-results.json, which turbo keeps and
// brings back. Reads the package from the directory that it runs in. What has run together with other packages is only taken.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { RESULTS_FILE, TOGETHER, testFiles } from './files.mjs'

/** From so many files on two workers share them: each loads all anew that it tests. */
const MANY_FILES = 12

const together = join(TOGETHER, `${process.env.TURBO_HASH}.json`)
rmSync(RESULTS_FILE, { force: true })
if (existsSync(together)) take()
else await runAlone()

function take() {
  renameSync(together, RESULTS_FILE)
  const { passed, failed } = JSON.parse(readFileSync(RESULTS_FILE, 'utf8'))
  process.stdout.write(
    `${basename(process.cwd())}: ${passed} passed, ${failed} failed, together with others\n`,
  )
  process.exitCode = failed === 0 ? 0 : 1
}

async function runAlone() {
  const { runTogether } = await import('./processes.mjs')
  const { endWith, makeReport } = await import('./report.mjs')
  // As in run-tests.mjs.
  process.umask(0o022)
  const name = basename(process.cwd())
  const files = testFiles(name, ['quick']).map((file) => ({ name, file }))
  const { total, report } = makeReport()
  if (files.length > 0) await runTogether(files, files.length < MANY_FILES ? 1 : 2, report)
  writeFileSync(RESULTS_FILE, `${JSON.stringify(total)}\n`)
  endWith('', total.failed === 0 ? 0 : 1)
}
