import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { exitCode } from './type-check.ts'

/** Which tests of a project are run, and how. */
export interface RunOptions {
  /** Those with this in their path; all when absent. */
  readonly part?: string | undefined
  /** The conformance suites of drivers alone, which then try wrong drivers made of the project's own, too. */
  readonly mutants?: boolean
}

/** As `@steeple/testkit` reads it. */
const MUTANTS = { SVC_CONFORMANCE_MUTANTS: '1' }
/** The suites that have mutants. */
const HAS_MUTANTS = /\b(core|hss)DriverConformance\(/

/**
 * Runs the test files of a project (`test/**\/*.test.ts`), each in a process of its own. Gives the paths of those that failed. Throws
 * when there is none to run.
 */
export async function runTests(
  dir: string,
  { part = '', mutants = false }: RunOptions = {},
): Promise<readonly string[]> {
  const files = readdirSync(join(dir, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.test\.[jt]s$/.test(entry.name))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .filter((path) => path.includes(part))
    .filter((path) => !mutants || HAS_MUTANTS.test(readFileSync(join(dir, path), 'utf8')))
    .toSorted()
  if (files.length === 0)
    throw new Error(
      mutants
        ? `no test in ${join(dir, 'test')} calls coreDriverConformance or hssDriverConformance: other suites have no mutants`
        : `no test in ${join(dir, 'test')} is called *${part}*.test.ts`,
    )
  const failed: string[] = []
  for (const file of files)
    if ((await exitCode(['--no-warnings', join(dir, file)], dir, mutants ? MUTANTS : {})) !== 0)
      failed.push(file)
  return failed
}
