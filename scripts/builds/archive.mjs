// An archive of a build: its files in a folder of their own, with a configuration and the lines that start it.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepFor } from '../../docs/site/src/marks.ts'
import { signatureText } from '../../packages/contracts/src/signed-files.ts'
import { root } from '../workspace.mjs'
import { configFor } from './config.mjs'
import { filesBelow, put, settle } from './files.mjs'
import { sha256 } from './sums.mjs'
import { packTar } from './tar.mjs'

/** As packages/groups reads it. */
const PURPOSE = 'steeple build 1'

/** Writes the archive into `out`; gives its file. `work` is an empty folder. With a key, boxes fetch from each other what is in it. */
export function makeArchive({ from, out, work, build, level, key }) {
  const name = `steeple-${build.version}-linux-${build.arch}`
  const folder = join(work, name)
  const { status } = spawnSync('cp', ['-a', from, folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('the build could not be copied')
  // Over what the build is, and not over what its operator may change.
  if (key !== undefined) put(folder, 'signature.json', signatureText(PURPOSE, hashesIn(from), key))
  put(folder, 'README.md', readmeFor(build, name))
  put(folder, 'control.yaml', configFor('packaging/archive/control.yaml', build))
  settle(folder, build.epoch)
  const file = join(out, `${name}.tar.gz`)
  packTar({ folder: work, parts: [name], file, epoch: build.epoch, level })
  return file
}

function hashesIn(folder) {
  return new Map(filesBelow(folder).map((path) => [path, sha256(join(folder, path))]))
}

function readmeFor({ version, arch, lacks }, name) {
  const text = readFileSync(join(root, 'packaging/archive/README.md'), 'utf8')
  return keepFor(text, new Set(lacks))
    .replaceAll('VERSION', version)
    .replaceAll('ARCH', arch)
    .replaceAll('FOLDER', name)
}
