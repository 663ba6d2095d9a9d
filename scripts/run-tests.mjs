// Runs chosen test files that start no program, with `--long` the long ones alone, or with `--e2e` those that start programs, with `--both`
// the others too, and ends with "N passed, N failed".
// Where STEEPLE_E2E_BUILD names a build, that is tried, by the files that are not about what it lacks.
// Arguments select files by a part of the path. `npm test` without a choice goes through turbo instead.
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { kindOf, packagesWithTests, testFiles } from './tests/files.mjs'
import { lacksOf, whyNot } from './tests/parts.mjs'
import { alone, inLanes, runTogether, WORKERS_TOGETHER } from './tests/processes.mjs'
import { endWith, makeReport, summary } from './tests/report.mjs'
import { folderOf } from './workspace.mjs'

// Files of tests are as those of most people: what everybody may write to is refused in places.
process.umask(0o022)
const isE2e = process.argv.includes('--e2e')
const kinds = kindsAsked()
const wanted = process.argv.slice(2).filter((a) => !a.startsWith('--'))
const startedAt = Date.now()
/** Files of e2e that wait for minutes and do next to nothing: rules that have to hold for a while. */
const WAITS = new Set(['alerts-clock', 'alerts-postgres', 'alerts-rules', 'alerts-rules-box'])
/** Files of e2e that keep a processor busy for longer than the others; begun late, they would run on alone at the end. */
const LONG = [
  'attack',
  'kill',
  'disarm',
  'build-parts',
  'canary',
  'damage',
  'usage-kill',
  'backup',
  'hot-upgrade',
  'canary-hss',
  'fuzz',
]
/** The same of other packages, which come after those of e2e. */
const LONG_OF_PACKAGES = ['forged', 'progress', 'conformance', 'escapes', 'exact', 'batch']
/**
 * Files at a time: about half of what each takes is waiting, more of it where it starts browsers or containers. With two a processor a
 * tenth of it had nothing to do; with these it has.
 */
const LANES = Math.ceil(2.5 * availableParallelism())
/** Files of `--e2e` that are run again, alone; where more fail it is the product. */
const MOST_AGAIN = 3
const { total, report, again } = makeReport({ hasFigures: isE2e, mostAgain: isE2e ? MOST_AGAIN : 0 })
const files = packagesWithTests()
  .flatMap((name) =>
    testFiles(name, kinds)
      .map((file) => ({ name, file }))
      .filter(
        ({ file }) =>
          wanted.length === 0 || wanted.some((part) => `${folderOf(name)}/${file}`.includes(part)),
      ),
  )
  .filter(isTried)

if (isE2e) await runE2e()
else await runTogether(files, WORKERS_TOGETHER, report)
endWith(
  summary(total, Math.round((Date.now() - startedAt) / 1000)),
  total.failed === 0 && total.passed > 0 ? 0 : 1,
)

/** Tells of each file that is not tried on a build, and why. Those of the sources of packages are too many to tell. */
function isTried({ name, file }) {
  if (process.env.STEEPLE_E2E_BUILD === undefined) return true
  const why = whyNot({ name, file }, lacksOf(process.env.STEEPLE_E2E_BUILD))
  if (why !== undefined && name === 'e2e')
    process.stdout.write(`not tried: ${folderOf(name)}/${file} ${why}\n`)
  return why === undefined
}

function kindsAsked() {
  if (process.argv.includes('--both')) return ['quick', 'long', 'programs']
  if (isE2e) return ['programs']
  return process.argv.includes('--long') ? ['long'] : ['quick', 'long']
}

/**
 * Files that start programs, each in namespaces or folders of its own: some at a time without a pause, the long ones first and the short
 * ones of single packages last, and beside them one of those that do nothing but wait. What failed beside others is tried once more alone, and the end of the run says so.
 */
async function runE2e() {
  const ofE2e = files.filter(({ name }) => name === 'e2e')
  const isOnContainers = ({ file }) => /\/(real-[^/]+|scenario)\.test\.ts$/.test(file)
  const isWaiting = ({ file }) => WAITS.has(basename(file, '.test.ts'))
  const ofPackages = files.filter(({ name }) => name !== 'e2e')
  const sharing = ofPackages.filter(({ name, file }) => kindOf(name, file) !== 'programs')
  const starting = ofPackages.filter(({ name, file }) => kindOf(name, file) === 'programs')
  const takesLong = ({ name, file }) =>
    name === 'e2e'
      ? LONG.includes(basename(file, '.test.ts'))
      : LONG_OF_PACKAGES.includes(basename(file, '.e2e.test.ts'))
  const rank = (one) => (takesLong(one) ? 0 : isOnContainers(one) ? 1 : 2)
  const others = ofE2e.filter((one) => !isWaiting(one)).sort((a, b) => rank(a) - rank(b))
  await runTogether(sharing, WORKERS_TOGETHER, report)
  await Promise.all([
    inLanes(alone(ofE2e.filter(isWaiting), report), 1),
    inLanes(alone([...others, ...starting.sort((a, b) => rank(a) - rank(b))], report), LANES),
  ])
  const failed = files.filter(({ name, file }) => again.has(join(folderOf(name), file)))
  await inLanes(alone(failed, report), 1)
}
