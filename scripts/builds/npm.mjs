// What plugins and programs are written against, as npm packages: they are the same twice, and need nothing of this workspace but each other.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { arch } from 'node:process'
import { folderOf, root } from '../workspace.mjs'
import { filesBelow } from './files.mjs'
import { manifestOf } from './parts.mjs'

const FOR_PLUGINS = ['contracts', 'plugin-kit', 'testkit']
const PUBLISHED = ['client', ...FOR_PLUGINS]
const pnpm = join(root, 'tools/node_modules/@pnpm', `exe.linux-${arch}`, 'pnpm')
/** Many builds are made of one state of the packages. */
const cache = join(root, 'node_modules/.cache/steeple-npm')

/** Packs them into a folder; gives the paths of the files. */
export function makeNpm(out) {
  mkdirSync(out, { recursive: true })
  return PUBLISHED.map((name) => packInto(out, name))
}

/** Those for plugins alone; what was packed before of the very same files is taken. */
export function takeNpm(out) {
  mkdirSync(out, { recursive: true })
  mkdirSync(cache, { recursive: true })
  return FOR_PLUGINS.map((name) => {
    const kept = join(cache, `${stateOf(name)}.tgz`)
    if (!existsSync(kept)) {
      const folder = mkdtempSync(join(cache, 'pack-'))
      renameSync(packInto(folder, name), kept)
      rmSync(folder, { recursive: true })
    }
    const file = join(out, fileOf(name))
    copyFileSync(kept, file)
    return file
  })
}

function packInto(out, name) {
  const folder = join(root, folderOf(name))
  if (!existsSync(join(folder, 'dist/index.js')))
    throw new Error(`${folderOf(name)} is not built; npm run build`)
  const { status, error } = spawnSync(pnpm, ['pack', '--pack-destination', out], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (error !== undefined || status !== 0) throw new Error(`${folderOf(name)} could not be packed`)
  return join(out, fileOf(name))
}

function fileOf(name) {
  return `steeple-${name}-${manifestOf(name).version}.tgz`
}

/** The SHA-256 of all that goes into a package. */
function stateOf(name) {
  const folder = join(root, folderOf(name))
  if (!existsSync(join(folder, 'dist/index.js')))
    throw new Error(`${folderOf(name)} is not built; npm run build`)
  const files = [
    'package.json',
    'README.md',
    'tsconfig.plugin.json',
    ...filesBelow(join(folder, 'dist')).map((file) => join('dist', file)),
  ]
  const hash = createHash('sha256').update(readFileSync(join(root, 'LICENSE')))
  // Their versions are those that dependencies between them get.
  for (const one of PUBLISHED) hash.update(manifestOf(one).version)
  for (const file of files)
    if (existsSync(join(folder, file))) hash.update(`${file}\n`).update(readFileSync(join(folder, file)))
  return hash.digest('hex')
}
