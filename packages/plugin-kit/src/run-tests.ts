import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { exitCode } from './type-check.ts'

/**
 * Runs the test files of a project (`test/**\/*.test.ts`, or those whose path has `part` in it), each in a process of its own.
 * Gives the paths of those that failed. Throws when there is none to run.
 */
export async function runTests(dir: string, part = ''): Promise<readonly string[]> {
  const files = readdirSync(join(dir, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.test\.[jt]s$/.test(entry.name))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .filter((path) => path.includes(part))
    .toSorted()
  if (files.length === 0) throw new Error(`no test in ${join(dir, 'test')} is called *${part}*.test.ts`)
  const failed: string[] = []
  for (const file of files)
    if ((await exitCode(['--no-warnings', join(dir, file)], dir)) !== 0) failed.push(file)
  return failed
}
