// Makes packages of a build: node scripts/builds/pack.mjs deb,oci,tar [--from DIR] [--out DIR] [--level 1-9] [--key FILE]. Of this checkout: npm
// With a key of `svc plugin key`, the archive is signed.
// A Debian package, an OCI image as one file (podman load -i FILE), a compressed archive. Each is the same twice.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv, stderr, stdout } from 'node:process'
import { readSigningKey } from '../../packages/contracts/src/signed-files.ts'
import { root } from '../workspace.mjs'
import { makeArchive } from './archive.mjs'
import { makeDeb } from './deb.mjs'
import { makeNpm } from './npm.mjs'
import { makeImage } from './oci.mjs'
import { listIn, refuseOthers } from './parts.mjs'
import { hashAll, hashEach } from './sums.mjs'

const MAKERS = { deb: makeDeb, oci: makeImage, tar: makeArchive }

// What is in a package is for everybody, whoever makes it.
process.umask(0o022)
try {
  await main(argv.slice(2))
} catch (error) {
  stderr.write(`steeple: ${error.message}\n`)
  process.exit(2)
}

async function main([kinds = '', ...args]) {
  refuseOthers(args, ['--from', '--out', '--level', '--key'])
  const asked = kinds.split(',')
  const out = outOf(args)
  const level = levelOf(args)
  const keyFile = listIn(args, '--key')?.join(',')
  const key = keyFile === undefined ? undefined : await readSigningKey(resolve(keyFile))
  const wanted = asked.filter((kind) => kind !== 'npm')
  const from = wanted.length === 0 ? undefined : buildFrom(args, wanted)
  mkdirSync(out, { recursive: true })
  const files = asked.includes('npm') ? makeNpm(out) : []
  for (const kind of wanted) {
    const work = mkdtempSync(join(tmpdir(), 'steeple-pack-'))
    try {
      files.push(MAKERS[kind]({ ...from, out, work, level, key }))
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  hashEach(files)
  hashAll(out)
  stdout.write(files.map((file) => `${file}\n`).join(''))
}

/** `{from, build}`: the build that packages of these kinds are made of, and its record. */
function buildFrom(args, kinds) {
  const from = resolve(listIn(args, '--from')?.[0] ?? join(root, 'dist'))
  const record = join(from, 'lib/node_modules/@steeple/cli/build.json')
  if (!existsSync(record)) throw new Error(`${from} is no build; make one: npm run build -- --out dist`)
  if (!existsSync(join(from, 'bin/node'))) throw new Error(`${from} has no Node in it, and packages need one`)
  for (const kind of kinds)
    if (!Object.hasOwn(MAKERS, kind))
      throw new Error(`a package is npm, ${Object.keys(MAKERS).join(', ')}, and not ${kind || '""'}`)
  return { from, build: JSON.parse(readFileSync(record, 'utf8')) }
}

/** How hard gzip tries: what is packed to be tried here and now takes a third of the time at 1. */
function levelOf(args) {
  const level = listIn(args, '--level')?.join(',') ?? '6'
  if (!/^[1-9]$/.test(level)) throw new Error(`--level is a digit from 1 to 9, and not ${level}`)
  return Number(level)
}

function outOf(args) {
  return resolve(listIn(args, '--out')?.[0] ?? join(root, 'packed'))
}
