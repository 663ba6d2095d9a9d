// Which test files there are. Those whose name ends in `.e2e.test.ts` start programs, and so do all of packages/e2e:
// they are `npm run e2e`. The others share processes: `npm test`.
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** The packages that have tests, by folder name. */
export function packagesWithTests() {
  return readdirSync(join(root, 'packages'))
    .filter((name) => existsSync(join(root, 'packages', name, 'test')))
    .sort()
}

/** The test files of one package as paths from its folder, sorted. */
export function testFiles(name, { isE2e }) {
  return list(name, 'test').filter((file) => startsPrograms(name, file) === isE2e)
}

/** Whether it loads the builds of other plugins, and so is run again when those change: the `test-beside` task of its package. */
export function isBesideOthers(file) {
  return file.endsWith('.beside.test.ts')
}

/** Whether a package has such files, and so that task. */
export function hasFilesBeside(name) {
  return testFiles(name, { isE2e: false }).some(isBesideOthers)
}

/** Where one of the tasks of a package leaves its count, in the package's folder. */
export function resultsFile(isBeside) {
  return isBeside ? 'test-results-beside.json' : 'test-results.json'
}

function startsPrograms(name, file) {
  return name === 'e2e' || file.endsWith('.e2e.test.ts')
}

function list(name, folder) {
  return readdirSync(join(root, 'packages', name, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return list(name, path)
      return entry.name.endsWith('.test.ts') ? [path] : []
    })
    .sort()
}
