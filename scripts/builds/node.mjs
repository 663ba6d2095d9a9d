// The Node that a build carries: the pinned one, for this machine or another.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../workspace.mjs'

const tools = join(root, 'tools')
const FILES = ['package.json', 'package-lock.json']

/** `{folder, version}` of the pinned Node for an architecture; npm fetches what is not here and looks at its hash. */
export function nodeFor(arch) {
  const name = `node-linux-${arch}`
  const own = join(tools, 'node_modules', name)
  const folder = existsSync(join(own, 'bin/node')) ? own : fetched(arch, name)
  return { folder, version: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version }
}

function fetched(arch, name) {
  const lock = createHash('sha256')
    .update(readFileSync(join(tools, 'package-lock.json')))
    .digest('hex')
  const target = join(root, 'node_modules/.cache/steeple', `${arch}-${lock.slice(0, 16)}`)
  const node = join(target, 'node_modules', name)
  if (existsSync(join(node, 'bin/node'))) return node
  const work = `${target}.${process.pid}`
  mkdirSync(work, { recursive: true })
  for (const file of FILES) copyFileSync(join(tools, file), join(work, file))
  const args = [
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--os=linux',
    `--cpu=${arch}`,
  ]
  const { status } = spawnSync('npm', args, { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0 || !existsSync(join(work, 'node_modules', name, 'bin/node')))
    throw new Error(`npm could not bring Node for ${arch}`)
  rmSync(target, { recursive: true, force: true })
  renameSync(work, target)
  return node
}
