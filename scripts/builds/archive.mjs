// An archive of a build: its files in a folder of their own, with a configuration and the lines that start it.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepFor } from '../../packages/docs/src/marks.ts'
import { root } from '../workspace.mjs'
import { configFor } from './config.mjs'
import { put, settle } from './files.mjs'
import { packTar } from './tar.mjs'

/** Writes the archive into `out`; gives its file. `work` is an empty folder. */
export function makeArchive({ from, out, work, build, level }) {
  const name = `steeple-${build.version}-linux-${build.arch}`
  const folder = join(work, name)
  const { status } = spawnSync('cp', ['-a', from, folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('the build could not be copied')
  put(folder, 'README.md', readmeFor(build, name))
  put(folder, 'control.yaml', configFor('packaging/archive/control.yaml', build))
  settle(folder, build.epoch)
  const file = join(out, `${name}.tar.gz`)
  packTar({ folder: work, parts: [name], file, epoch: build.epoch, level })
  return file
}

function readmeFor({ version, arch, lacks }, name) {
  const text = readFileSync(join(root, 'packaging/archive/README.md'), 'utf8')
  return keepFor(text, new Set(lacks))
    .replaceAll('VERSION', version)
    .replaceAll('ARCH', arch)
    .replaceAll('FOLDER', name)
}
