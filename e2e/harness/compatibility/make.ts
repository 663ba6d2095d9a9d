// Makes docs/reference/compatibility.md, with the runs that a file of SVC_TEST_RUNS has if it is named: node e2e/harness/compatibility/make.ts [FILE]
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import { compatibilityPage } from './page.ts'
import { KEPT, mergeRuns, readRuns } from './runs.ts'

const [, , file] = process.argv
const runs = mergeRuns(readRuns(KEPT), file === undefined ? [] : readRuns(file))
writeFileSync(KEPT, runs.map((run) => `${JSON.stringify(run)}\n`).join(''))
writeFileSync(join(ROOT, 'docs/reference/compatibility.md'), compatibilityPage(runs))
