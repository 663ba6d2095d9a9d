import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from '../launch.ts'

/** That something held with a real program of this version. */
export interface Run {
  readonly program: string
  readonly version: string
  /** YYYY-MM-DD. */
  readonly date: string
  /** What held it: the file of a test or the page that was followed by hand, from the root of the repository. */
  readonly by: string
}

/** The newest run of each program and version by each test or page. */
export const KEPT: string = join(ROOT, 'e2e/harness/compatibility/runs.jsonl')

/**
 * Writes down, in the file that `SVC_TEST_RUNS` names, that this test file runs with a real program of the version that `command` prints
 * first, when the file has ended without a failure. Without that variable it does nothing.
 */
export function runsWith(program: string, ...command: readonly [string, ...string[]]): void {
  const into = process.env.SVC_TEST_RUNS
  if (into === undefined) return
  const [file, ...args] = command
  const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' })
  const [version] = `${stdout}${stderr}`.match(/\d[\w.-]*/) ?? []
  if (version === undefined) throw new Error(`${command.join(' ')} prints no version`)
  const date = new Date().toISOString().slice(0, 10)
  const run: Run = { program, version, date, by: relative(ROOT, process.argv[1] ?? '') }
  process.on('exit', (code) => {
    if (code === 0) appendFileSync(into, `${JSON.stringify(run)}\n`)
  })
}

/** The runs in a file of lines. Throws if a line is none. */
export function readRuns(file: string): readonly Run[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Run)
}

/** Both, each program and version once for each `by`: the later one. In a stable order. */
export function mergeRuns(one: readonly Run[], other: readonly Run[]): readonly Run[] {
  const newest = new Map<string, Run>()
  for (const run of [...one, ...other].toSorted((a, b) => a.date.localeCompare(b.date)))
    newest.set(`${run.program}\n${run.version}\n${run.by}`, run)
  return [...newest.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, run]) => run)
}
