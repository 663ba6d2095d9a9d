// Which test files there are, of three kinds. Those whose name ends in `.e2e.test.ts` start programs, and so do all of e2e:
// they are `npm run e2e`. `.long.test.ts` start none, but take a processor for a second or more, or load the builds of other plugins:
// `npm test -- --long`. The others are quick: `npm test`.
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { folderOf, root, workspaceFolders } from '../workspace.mjs'

/** The packages that have tests, by folder name. */
export function packagesWithTests() {
  return workspaceFolders()
    .filter((folder) => existsSync(join(root, folder, 'test')))
    .map((folder) => basename(folder))
}

/** The test files of one package of the given kinds, as paths from its folder, sorted. */
export function testFiles(name, kinds) {
  return list(name, 'test').filter((file) => kinds.includes(kindOf(name, file)))
}

/** `quick`, `long` or `programs`. */
export function kindOf(name, file) {
  if (name === 'e2e' || file.endsWith('.e2e.test.ts')) return 'programs'
  return file.endsWith('.long.test.ts') ? 'long' : 'quick'
}

/** Where the quick tests of a package leave their count, in the package's folder. */
export const RESULTS_FILE = 'test-results.json'

/** Where those that run together leave the counts of packages, each named by the hash of its task, until its own script takes it. */
export const TOGETHER = join(root, 'node_modules/.cache/tests-together')

function list(name, folder) {
  return readdirSync(join(root, folderOf(name), folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return list(name, path)
      return entry.name.endsWith('.test.ts') ? [path] : []
    })
    .sort()
}
