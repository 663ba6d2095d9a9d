// The folders of the workspace's packages: `packages/` holds what runs, `lab/` simulators, `testing/` what tests are written with,
// `docs/site` what makes the site of the documentation, `e2e/` the black-box tests.
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const folders = ['packages', 'lab', 'testing']
  .flatMap((group) => readdirSync(join(root, group)).map((name) => join(group, name)))
  .concat('docs/site', 'e2e')
  .filter((folder) => existsSync(join(root, folder, 'package.json')))
  .sort((a, b) => (basename(a) < basename(b) ? -1 : 1))
const byName = new Map(folders.map((folder) => [basename(folder), folder]))

/** Folders of all packages, from the root, sorted by the name of the package. */
export function workspaceFolders() {
  return folders
}

/** The folder of one package, from the root. Where there is none, it would be in `packages/`. */
export function folderOf(name) {
  return byName.get(name) ?? join('packages', name)
}
