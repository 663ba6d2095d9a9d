// Makes packages of a build: node scripts/builds/pack.mjs deb,oci,tar [--from DIR] [--out DIR]. Of this checkout: npm
// A Debian package, an OCI image as one file (podman load -i FILE), a compressed archive. Each is the same twice.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { argv, stderr, stdout } from 'node:process'
import { makeDeb } from './deb.mjs'
import { makeNpm } from './npm.mjs'
import { makeImage } from './oci.mjs'
import { listIn, root } from './parts.mjs'
import { packTar } from './tar.mjs'

const MAKERS = { deb: makeDeb, oci: makeImage, tar: makeArchive }

try {
  main(argv.slice(2))
} catch (error) {
  stderr.write(`steeple: ${error.message}\n`)
  process.exit(2)
}

function main([kinds = '', ...args]) {
  const asked = kinds.split(',')
  if (asked.includes('npm')) for (const file of makeNpm(outOf(args))) stdout.write(`${file}\n`)
  const wanted = asked.filter((kind) => kind !== 'npm')
  if (wanted.length === 0) return
  const from = resolve(listIn(args, '--from')?.[0] ?? join(root, 'dist'))
  const out = outOf(args)
  const record = join(from, 'lib/node_modules/@steeple/cli/build.json')
  if (!existsSync(record)) throw new Error(`${from} is no build; make one: npm run build -- --out dist`)
  const build = JSON.parse(readFileSync(record, 'utf8'))
  if (!existsSync(join(from, 'bin/node'))) throw new Error(`${from} has no Node in it, and packages need one`)
  for (const kind of wanted)
    if (!Object.hasOwn(MAKERS, kind))
      throw new Error(`a package is npm, ${Object.keys(MAKERS).join(', ')}, and not ${kind || '""'}`)
  mkdirSync(out, { recursive: true })
  for (const kind of wanted) {
    const work = mkdtempSync(join(tmpdir(), 'steeple-pack-'))
    try {
      const file = MAKERS[kind]({ from, out, work, build })
      const hash = createHash('sha256').update(readFileSync(file)).digest('hex')
      writeFileSync(`${file}.sha256`, `${hash}  ${basename(file)}\n`)
      stdout.write(`${file}\n`)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
}

function outOf(args) {
  return resolve(listIn(args, '--out')?.[0] ?? join(root, 'packed'))
}

function makeArchive({ from, out, work, build }) {
  const name = `steeple-${build.version}-linux-${build.arch}`
  // In the archive there is one folder, named so.
  const { status } = spawnSync('cp', ['-a', from, join(work, name)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error('the build could not be copied')
  const file = join(out, `${name}.tar.gz`)
  packTar({ folder: work, parts: [name], file, epoch: build.epoch, isCompressed: true })
  return file
}
